// What readers of the books wait for, and what calls wait because of them, through the front door:
// node test/bench/reading.ts [--entries 5000000] [--rounds 5] [--folder DIR, kept] [--fill: makes the folder alone].
// A gateway over an embedded log of millions of entries answers calls at a rate, first alone, then while lists and
// analytics are read one after the other. Prints the time of each kind of read, and the 99th percentile of the calls.
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { setPriority, tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { startGateway } from '../support/gateway.ts';
import { freePort, isInstalled, startServer } from './child.ts';
import { LOAD } from './generate-load.ts';
import type { PacedJob, PacedResult } from './jobs.ts';
import { DAY_MS, END, generator } from './log-generator.ts';
import { startNginxUpstream } from './nginx.ts';
import { chatRequest } from './payloads.ts';
import { ADMIN_KEY, type Sluice, startSluice } from './sluice.ts';

const { values: options } = parseArgs({
  options: {
    entries: { type: 'string', default: '5000000' },
    rounds: { type: 'string', default: '5' },
    rate: { type: 'string', default: '500' },
    folder: { type: 'string' },
    fill: { type: 'boolean', default: false },
  },
});
const ENTRIES = Number(options.entries);
const ROUNDS = Number(options.rounds);
const RATE = Number(options.rate);
const CALM_SECONDS = 20;

/** The generator's month ends with the day before this one. */
const UNTIL = Math.floor(Date.now() / DAY_MS) * DAY_MS;

async function fill(dataDir: string): Promise<void> {
  const gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir, GATEWAY_ADMIN_API_KEY: ADMIN_KEY });
  const { organisationId } = gateway.app.tenancy;
  await gateway.close();
  const { requestLog, close } = await openSqliteStore({ dataDir, collections: [] });
  const next = generator(ENTRIES);
  for (let done = 0; done < ENTRIES; done += 1000) {
    await requestLog.append(
      Array.from({ length: Math.min(1000, ENTRIES - done) }, () => {
        const entry = next();
        return { ...entry, organisationId, createdAt: entry.createdAt - END + UNTIL };
      }),
    );
  }
  // Sums are made by the hour as time goes by; here they are made at once.
  await requestLog.expire({ logDays: 90, bodyDays: 90, metricDays: 365 }, Date.now());
  await close();
}

/** Calls at a rate in a process of their own, until they are stopped. */
async function calls(sluice: Sluice, upstream: number): Promise<() => Promise<PacedResult>> {
  const job: PacedJob = {
    kind: 'paced',
    perSecond: RATE,
    shot: {
      url: `${sluice.origin}/v1/chat/completions`,
      method: 'POST',
      headers: sluice.headers(upstream),
      body: chatRequest(500),
    },
  };
  const child = spawn(process.execPath, [LOAD], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  if (child.pid !== undefined) aheadOfOthers(child.pid);
  child.stdin.write(`${JSON.stringify(job)}\n`);
  await lines.next();
  return async () => {
    child.stdin.end('stop\n');
    return JSON.parse(String((await lines.next()).value)) as PacedResult;
  };
}

/** Callers are on other machines: theirs must not wait for a core that readers want. */
function aheadOfOthers(pid: number): void {
  try {
    setPriority(pid, -10);
  } catch {
    console.log('(the callers could not be put ahead of others: their waits are in the figures)');
  }
}

const month = { time_of_generation_min: UNTIL - 30 * DAY_MS, time_of_generation_max: UNTIL };

const GRAPHS = [
  ...['cost', 'tokens', 'requests', 'latency', 'errors', 'users', 'cache/hit-rate', 'cache/latency'],
  ...['errors/rate', 'errors/stacks', 'errors/status-codes', 'requests/rescued', 'users/requests'],
  ...['feedbacks', 'feedbacks/scores', 'feedbacks/weighted', 'feedbacks/ai-models'],
].map((name) => `analytics/graphs/${name}`);

const GROUPS = [
  'analytics/summary/cache',
  ...['users', 'ai-models', 'workspaces', 'metadata/environment', 'status_code', 'api_key', 'provider'].map(
    (name) => `analytics/groups/${name}`,
  ),
];

const LISTS: readonly Readonly<Record<string, string | number>>[] = [
  {},
  { current_page: 99, page_size: 100 },
  { status_code: '429' },
  { status_code: '418' },
  { ai_model: 'mistral-model-39' },
  { ai_org_model: 'mistral__mistral-model-39' },
  { api_key_ids: 'key-31' },
  { virtual_keys: 'vk-14' },
  { configs: 'pc-11' },
  { prompt_slug: 'pp-7' },
  { cache_status: 'HIT' },
  { trace_id: 'none' },
  { metadata: '{"environment":"test"}' },
  { metadata: '{"_user":"user-290000"}' },
  { cost_min: 3.5 },
  { total_units_min: 7480 },
  { prompt_token_min: 6018 },
  { completion_token_max: 4 },
  { weighted_feedback_min: 1 },
  { search: 'context_length' },
  { search: 'zzz nowhere' },
  { status_code: '503', ai_model: 'mistral-model-39', metadata: '{"environment":"test"}', cost_max: 0 },
];

interface Read {
  readonly title: string;
  readonly path: string;
  /** Milliseconds that it may last. */
  readonly within: number;
}

const READS: readonly Read[] = [
  ...LISTS.map((query) => ({
    title: `logs ${JSON.stringify(query)}`,
    path: pathOf('logs', { page_size: 100, ...query }),
    within: 100,
  })),
  ...[...GRAPHS, ...GROUPS].map((path) => ({ title: path, path: pathOf(path, month), within: 300 })),
];

function pathOf(path: string, query: Readonly<Record<string, string | number>>): string {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) {
    search.set(name, name.startsWith('time_') ? new Date(value).toISOString() : String(value));
  }
  return `/v1/${path}?${search}`;
}

async function read({ origin }: Sluice, { path }: Read): Promise<{ ms: number; said: () => string }> {
  const start = performance.now();
  const answer = await fetch(origin + path, { headers: { 'x-gateway-api-key': ADMIN_KEY } });
  const body = await answer.arrayBuffer();
  // Who reads is on another machine as well: what the answer says is looked at when nobody is waiting.
  return { ms: performance.now() - start, said: () => said(answer.status, Buffer.from(body).toString()) };
}

function said(status: number, text: string): string {
  if (status !== 200) return `FAILED ${status} ${text.slice(0, 200)}`;
  const { total, data, data_points, source } = JSON.parse(text) as Record<string, unknown>;
  const rows = (data ?? data_points) as unknown[] | undefined;
  return `${rows?.length ?? '-'} of ${total ?? '-'} ${source ?? ''}`;
}

const at = (times: readonly number[], share: number): number => {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
};
const quantiles = (times: readonly number[]): string =>
  `p50 ${at(times, 0.5).toFixed(2)}  p99 ${at(times, 0.99).toFixed(2)}  p99.9 ${at(times, 0.999).toFixed(1)}  ` +
  `max ${at(times, 1).toFixed(1)} ms (${times.length})`;

/** One read, in milliseconds of the Unix epoch. */
interface Done {
  readonly title: string;
  readonly from: number;
  readonly until: number;
  readonly said: () => string;
}

async function readAll(sluice: Sluice, rounds: number): Promise<Done[]> {
  const done: Done[] = [];
  for (let round = 0; round < rounds; round++) {
    for (const one of READS) {
      const from = performance.timeOrigin + performance.now();
      const { ms, said } = await read(sluice, one);
      done.push({ title: one.title, from, until: from + ms, said });
    }
  }
  return done;
}

/** A line for each kind of read, with the slowest call that was under way with one of them. */
function print(reads: readonly Done[], { times, begun }: PacedResult): void {
  for (const { title, within } of READS) {
    const own = reads.filter((one) => one.title === title);
    const all = own.map(({ from, until }) => until - from);
    const [median, worst] = [at(all, 0.5), at(all, 1)];
    const calls = times.filter((ms, i) => {
      const due = begun + (i * 1000) / RATE;
      return own.some(({ from, until }) => due < until && due + ms > from);
    });
    const mark = median > within ? '  OVER' : worst > within ? '  over once' : '';
    console.log(
      `${title.slice(0, 70).padEnd(70)} median ${median.toFixed(1).padStart(7)}  worst ${worst.toFixed(1).padStart(7)} ms` +
        `  calls at most ${at(calls, 1).toFixed(1).padStart(5)} ms  ${own.at(-1)?.said()}${mark}`,
    );
  }
}

const dataDir = options.folder ?? mkdtempSync(join(tmpdir(), 'sluice-reading-'));
const scratch = mkdtempSync(join(tmpdir(), 'sluice-reading-'));
mkdirSync(dataDir, { recursive: true });
const running: { stop(): Promise<void> }[] = [];
try {
  if (!existsSync(join(dataDir, 'sluice.db'))) await fill(dataDir);
  if (options.fill) process.exit();
  const upstream = await freePort();
  const script = fileURLToPath(new URL('upstream.ts', import.meta.url));
  running.push(
    isInstalled('nginx')
      ? await startNginxUpstream(scratch, upstream)
      : await startServer(process.execPath, [script, String(upstream)], upstream),
  );
  const sluice = await startSluice(scratch, undefined, { GATEWAY_DATA_DIR: dataDir });
  running.push(sluice.child);
  const warm = await calls(sluice, upstream);
  await sleep(5000);
  await warm();
  const alone = await calls(sluice, upstream);
  await sleep(CALM_SECONDS * 1000);
  const calm = await alone();
  // What is read for the first time starts threads, opens files and is compiled: told apart.
  const first = await calls(sluice, upstream);
  await readAll(sluice, 1);
  const cold = await first();
  const meanwhile = await calls(sluice, upstream);
  const reads = await readAll(sluice, ROUNDS);
  const busy = await meanwhile();
  print(reads, busy);
  console.log(`\ncalls at ${RATE} a second, nothing read      ${quantiles(calm.times)}, ${calm.wrong} wrong`);
  console.log(
    `calls at ${RATE} a second, read for the first time  ${quantiles(cold.times)}, ${cold.wrong} wrong`,
  );
  console.log(`calls at ${RATE} a second, books being read  ${quantiles(busy.times)}, ${busy.wrong} wrong`);
  console.log(`p99 rose by ${(at(busy.times, 0.99) - at(calm.times, 0.99)).toFixed(2)} ms`);
} finally {
  for (const one of running.toReversed()) await one.stop();
  rmSync(scratch, { recursive: true, force: true });
  if (options.folder === undefined) rmSync(dataDir, { recursive: true, force: true });
}
