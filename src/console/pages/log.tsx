// One entry: the request, the answer, and every attempt of it.

import { session } from '../api.ts';
import { BodyText } from '../body-text.tsx';
import { copy } from '../copy.ts';
import { curlOf } from '../curl.ts';
import { dollars, duration, moment, whole } from '../figures.ts';
import { Neighbours } from '../log/neighbours.tsx';
import { TracePart } from '../log/trace.tsx';
import type { ReadLog } from '../log-worker.ts';
import workerUrl from '../log-worker.ts?worker&url';
import { useNames } from '../names.ts';
import { Alert, Head, Table, useLoaded } from '../parts.tsx';
import { href, query } from '../router.ts';
import { trusted } from '../trusted.ts';

interface Attempt {
  readonly id: string;
  readonly provider: string;
  readonly host: string;
  readonly model: string;
  readonly status_code: number;
  readonly outcome: string;
  readonly started_at: string;
  readonly latency_ms: number;
  readonly time_to_first_token_ms?: number;
  readonly cost_exact?: string;
  readonly error?: { readonly reason: string; readonly message: string };
}

interface Entry {
  readonly id: string;
  readonly created_at: string;
  readonly trace_id: string;
  readonly api_key_id?: string;
  readonly workspace_id?: string;
  readonly operation: string;
  readonly protocol: string;
  readonly provider: string;
  readonly model: string;
  readonly status_code: number;
  readonly latency_ms: number;
  readonly cost_exact?: string;
  readonly cache_status: string;
  readonly mode: string;
  readonly config?: string;
  readonly retries?: number;
  readonly error?: { readonly reason: string; readonly message: string };
  readonly usage?: {
    readonly prompt_tokens?: number;
    readonly completion_tokens?: number;
    readonly total_tokens?: number;
  };
  readonly metadata?: Readonly<Record<string, string>>;
  readonly attempts?: readonly Attempt[];
  readonly spans?: readonly {
    readonly kind: string;
    readonly name: string;
    readonly verdict: string;
    readonly latency_ms: number;
  }[];
}

function readLog(id: string, signal: AbortSignal): Promise<ReadLog> {
  return new Promise((resolve, reject) => {
    const worker = new Worker(trusted(workerUrl), { type: 'module' });
    signal.addEventListener('abort', () => worker.terminate());
    worker.onmessage = ({ data }: MessageEvent<ReadLog>) => {
      worker.terminate();
      resolve(data);
    };
    worker.onerror = () => reject(new Error('the entry could not be read'));
    worker.postMessage(id);
  });
}

export function LogPage({ id }: { readonly id: string }) {
  const { value, error } = useLoaded(id, async (signal) => {
    const log = await readLog(id, signal);
    if (log.reason === 'unauthenticated') session.value = null;
    return log;
  });
  const fault = error ?? value?.fault;
  const entry = value?.entry as Entry | undefined;
  return (
    <>
      <Head title="Entry">
        <a href={href('/logs', Object.fromEntries(query.value))}>All entries</a>
        {entry !== undefined && <Neighbours id={entry.id} createdAt={entry.created_at} />}
      </Head>
      {fault !== undefined && <Alert>{fault}</Alert>}
      {value === undefined && fault === undefined && <p class="empty">Loading…</p>}
      {value !== undefined && entry !== undefined && <Shown log={value} entry={entry} />}
    </>
  );
}

function Shown({ log, entry }: { readonly log: ReadLog; readonly entry: Entry }) {
  const { usage, error, metadata = {}, api_key_id: key = '', workspace_id: workspace = '' } = entry;
  const nameOf = useNames();
  const place = session.value?.workspaces.find(({ id }) => id === workspace)?.name ?? workspace;
  const facts: readonly (readonly [string, string])[] = [
    ['Id', entry.id],
    ['Time', moment(entry.created_at)],
    ['Status', String(entry.status_code)],
    ['Model', entry.model],
    ['Provider', entry.provider],
    ['Latency', duration(entry.latency_ms)],
    ['Tokens', usage ? `${whole(usage.prompt_tokens)} + ${whole(usage.completion_tokens)}` : ''],
    ['Cost', dollars(entry.cost_exact)],
    ['Key', nameOf(key)],
    ['Workspace', place],
    ['Cache', entry.cache_status],
    ['Trace', entry.trace_id],
    ['Operation', entry.operation],
    ['Protocol', entry.protocol],
    ['Why this target', whyOf(entry, log)],
    ['Error', error ? `${error.reason}: ${error.message}` : ''],
    ...Object.entries(metadata).map(([name, value]) => [`Metadata ${name}`, value] as const),
  ];
  return (
    <>
      <dl class="facts">
        {facts
          .filter(([, value]) => value !== '')
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <bdi>{value.length > 2000 ? `${value.slice(0, 2000)}…` : value}</bdi>
              </dd>
            </div>
          ))}
      </dl>
      <section aria-label="Request" class="part">
        <h2>Request</h2>
        <p class="hint">
          {log.request?.method} {log.request?.url} {cut(log.request?.truncated)}
        </p>
        <BodyText name="Request" text={log.request?.body ?? ''} />
        <p class="actions">
          <button type="button" onClick={() => void copy(curlOf(log, location.origin))}>
            Copy as curl
          </button>
          <a href={href('/playground', { replay: entry.id })}>Replay in the playground</a>
        </p>
      </section>
      <section aria-label="Response" class="part">
        <h2>Response</h2>
        <p class="hint">
          {log.response?.status} {cut(log.response?.truncated)}
        </p>
        <BodyText name="Response" text={log.response?.body ?? ''} />
      </section>
      <section aria-label="Attempts" class="part">
        <h2>Attempts</h2>
        <Attempts attempts={entry.attempts ?? []} of={entry} />
      </section>
      {(entry.spans?.length ?? 0) > 0 && (
        <section aria-label="Steps" class="part">
          <h2>Steps</h2>
          <Table
            label="Steps"
            columns={['Kind', 'Name', 'Verdict', 'Time']}
            rows={(entry.spans ?? []).map(({ kind, name, verdict, latency_ms }) => [
              kind,
              name,
              verdict,
              duration(latency_ms),
            ])}
            empty=""
          />
        </section>
      )}
      {entry.trace_id !== '' && <TracePart traceId={entry.trace_id} />}
      {log.hooks !== '' && log.hooks !== undefined && (
        <section aria-label="Guardrails" class="part">
          <h2>Guardrails</h2>
          <BodyText name="Guardrails" text={log.hooks} />
        </section>
      )}
    </>
  );
}

/** How the target was chosen: the strategy, the config, the place in it, and how often it was tried again. */
function whyOf({ mode, config, retries = 0 }: Entry, { targetPath = '' }: ReadLog): string {
  return [
    mode,
    config && `config ${config}`,
    targetPath !== '' && targetPath !== 'config' && `target ${targetPath}`,
    retries > 0 && `tried again ${retries} times`,
  ]
    .filter(Boolean)
    .join(', ');
}

/** Each call upstream, as a bar from its beginning to its end. */
function Attempts({ attempts, of }: { readonly attempts: readonly Attempt[]; readonly of: Entry }) {
  if (attempts.length === 0) return <p class="hint">No provider was called.</p>;
  const from = Date.parse(of.created_at);
  const span = Math.max(
    1,
    of.latency_ms,
    ...attempts.map((one) => Date.parse(one.started_at) - from + one.latency_ms),
  );
  return (
    <ol class="waterfall">
      {attempts.map((one) => {
        const left = Math.max(0, ((Date.parse(one.started_at) - from) / span) * 100);
        const width = Math.max(0.5, Math.min(100 - left, (one.latency_ms / span) * 100));
        return (
          <li key={one.id}>
            <span class={one.status_code >= 200 && one.status_code < 400 ? 'good' : 'bad'}>
              {one.status_code || one.outcome}
            </span>{' '}
            <bdi>{one.provider}</bdi> <bdi>{one.model.slice(0, 120)}</bdi>{' '}
            <span class="hint">{one.host}</span> {duration(one.latency_ms)} {dollars(one.cost_exact)}
            {one.error !== undefined && (
              <span class="bad">
                {' '}
                {one.error.reason}: <bdi>{one.error.message.slice(0, 500)}</bdi>
              </span>
            )}
            <span class="bar" aria-hidden="true">
              <span style={{ marginLeft: `${left}%`, width: `${width}%` }} />
            </span>
          </li>
        );
      })}
    </ol>
  );
}

function cut(bytes = 0): string {
  return bytes > 0 ? `${whole(bytes)} bytes were not kept` : '';
}
