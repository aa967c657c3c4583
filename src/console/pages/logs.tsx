// Logs: what was asked, what became of it, what it cost; new entries come in as they are made.
import { useComputed, useSignal } from '@preact/signals';
import { useCallback, useEffect, useMemo } from 'preact/hooks';
import type { LogEntry } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import { reachable } from '../api.ts';
import { dollars, duration, moment, whole } from '../figures.ts';
import { FirstCall } from '../first-call.tsx';
import { LogFacets } from '../log-facets.tsx';
import { LogList } from '../log-list.ts';
import { FILTERS } from '../log-query.ts';
import type { PageProps } from '../page-props.ts';
import { Alert, Choice, Field, Head } from '../parts.tsx';
import { ask, href, query } from '../router.ts';
import { Rows } from '../rows.tsx';
import { LogPage } from './log.tsx';

export default function Logs({ rest }: PageProps) {
  return rest === '' ? <List /> : <LogPage key={rest} id={rest} />;
}

const COLUMNS = ['Time', 'Status', 'Model', 'Provider', 'Latency', 'Tokens', 'Cost', 'Error'];
const TIMES = [
  ['', 'All time'],
  ['15m', '15 minutes'],
  ['1h', '1 hour'],
  ['24h', '24 hours'],
  ['7d', '7 days'],
  ['30d', '30 days'],
] as const;

function List() {
  const asked = query.value.toString();
  const list = useMemo(() => new LogList(new URLSearchParams(asked)), [asked]);
  useEffect(() => () => list.close(), [list]);
  const { entries, total, totalCapped, isLoaded, fault, waiting, skipped } = list.state.value;
  const hasFilter = Object.keys(FILTERS).some((name) => query.value.has(name)) || query.value.has('from');
  const onEnd = useCallback(() => void list.more(), [list]);
  const onTop = useCallback(
    (isTop: boolean) => {
      list.isTop = isTop;
      if (isTop) list.show();
    },
    [list],
  );
  return (
    <>
      <Head title="Logs">
        <span class="count" aria-live="polite">
          {isLoaded && `${whole(total)}${totalCapped ? '+' : ''} entries`}
        </span>
      </Head>
      <Filters />
      {fault !== '' && <Alert>{fault}</Alert>}
      {!reachable.value && <Alert>The gateway does not answer. Entries follow when it is back.</Alert>}
      {skipped > 0 && (
        <p role="status">{whole(skipped)} entries were skipped: they came too fast. Reload to see them.</p>
      )}
      {waiting.length > 0 && (
        <button type="button" class="new" onClick={() => list.show()}>
          {whole(waiting.length)} new
        </button>
      )}
      {entries.length > 0 && (
        <Rows
          label="Logs"
          columns={COLUMNS}
          rows={entries}
          keyOf={idOf}
          cellsOf={cellsOf}
          onEnd={onEnd}
          onTop={onTop}
        />
      )}
      {isLoaded && entries.length === 0 && fault === '' && (hasFilter ? <NoMatch /> : <FirstCall />)}
    </>
  );
}

function NoMatch() {
  return (
    <p class="empty">
      No entry matches these filters. <a href={href('/logs')}>Show all</a>
    </p>
  );
}

const idOf = ({ id }: LogEntry): string => id;

function cellsOf(entry: LogEntry) {
  const { id, createdAt, statusCode, model, provider, latencyMs, usage, costExact, error } = entry;
  return [
    <a key="id" href={href(`/logs/${encodeURIComponent(id)}`)}>
      {moment(createdAt)}
    </a>,
    <span key="status" class={statusCode >= 400 ? 'bad' : 'good'}>
      {statusCode}
    </span>,
    <bdi key="model">{short(model)}</bdi>,
    <bdi key="provider">{short(provider)}</bdi>,
    duration(latencyMs),
    whole(usage?.totalTokens),
    dollars(costExact),
    error?.reason ?? '',
  ];
}

/** A caller may have written anything: what is too long for a row is cut. */
function short(text: string): string {
  return text.length > 120 ? `${text.slice(0, 120)}…` : text;
}

function Filters() {
  const params = query.value;
  const open = useSignal(false);
  const others = useComputed(() =>
    Object.keys(FILTERS).filter((name) => !['status', 'model', 'q'].includes(name) && query.value.has(name)),
  );
  const submit = (event: Event): void => {
    event.preventDefault();
    const data = new FormData(event.currentTarget as HTMLFormElement);
    ask({
      status: String(data.get('status') ?? '').trim(),
      model: String(data.get('model') ?? '').trim(),
      q: String(data.get('q') ?? '').trim(),
    });
  };
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const typed = (event.target as Element | null)?.closest?.(
        'input, select, textarea, dialog, [contenteditable]',
      );
      if (event.key !== '/' || typed) return;
      event.preventDefault();
      document.querySelector<HTMLInputElement>('input[name="q"]')?.focus();
    };
    addEventListener('keydown', onKey);
    return () => removeEventListener('keydown', onKey);
  }, []);
  return (
    <>
      <form class="filters" key={params.toString()} onSubmit={submit}>
        <Field label="Status" name="status" inputMode="numeric" defaultValue={params.get('status') ?? ''} />
        <Field label="Model" name="model" defaultValue={params.get('model') ?? ''} />
        <Field
          label="Search"
          name="q"
          type="search"
          minLength={3}
          maxLength={200}
          defaultValue={params.get('q') ?? ''}
        />
        <Choice
          label="Time"
          value={params.get('from') ?? ''}
          options={TIMES}
          onChange={(from) => ask({ from })}
        />
        <button type="submit">Apply</button>
        <button
          type="button"
          aria-expanded={open.value}
          onClick={() => {
            open.value = !open.value;
          }}
        >
          Values
        </button>
      </form>
      {others.value.length > 0 && (
        <ul class="chips" aria-label="Further filters">
          {others.value.map((name) => (
            <li key={name}>
              <button type="button" onClick={() => ask({ [name]: '' })} title="Remove the filter">
                {name}: <bdi>{short(params.get(name) ?? '')}</bdi> ×
              </button>
            </li>
          ))}
        </ul>
      )}
      {open.value && <LogFacets />}
    </>
  );
}
