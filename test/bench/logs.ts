// Measures the embedded log at millions of entries and prints tables:
// node test/bench/logs.ts [--entries 5000000] [--folder DIR, kept] [--rounds 7]
// [--fill: makes the folder and measures nothing].
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { RequestRecord } from '../../src/call/record.ts';
import type { LogAggregation } from '../../src/store/log/aggregation.ts';
import type { LogStore } from '../../src/store/log-store.ts';
import type { LogFilter } from '../../src/store/request-log.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { BEGIN, DAY_MS, END, generator, ORGANISATION } from './log-generator.ts';

const { values: options } = parseArgs({
  options: {
    entries: { type: 'string', default: '5000000' },
    folder: { type: 'string' },
    rounds: { type: 'string', default: '7' },
    fill: { type: 'boolean', default: false },
  },
});
const ENTRIES = Number(options.entries);
const ROUNDS = Number(options.rounds);
const BATCH = 1000;
const scope = { organisationId: ORGANISATION, workspaceId: undefined };

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(66)} ${figure}`);
}

function at(times: readonly number[], share: number): number {
  const sorted = times.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

async function fill(store: LogStore): Promise<void> {
  const next = generator(ENTRIES);
  let spent = 0;
  for (let done = 0; done < ENTRIES; done += BATCH * 10) {
    const batches: RequestRecord[][] = [];
    for (let i = 0; i < 10 && done + i * BATCH < ENTRIES; i++) {
      batches.push(Array.from({ length: Math.min(BATCH, ENTRIES - done - i * BATCH) }, next));
    }
    const start = performance.now();
    for (const batch of batches) await store.append(batch);
    spent += performance.now() - start;
  }
  print(`${ENTRIES.toLocaleString('en')} entries appended`, `${Math.round(ENTRIES / spent)},000 /s`);
}

/** What is measured: medians and worst of some rounds. */
interface Row {
  readonly what: string;
  readonly median: number;
  readonly worst: number;
}

async function measured(what: string, run: () => Promise<string>): Promise<Row> {
  const times: number[] = [];
  let said = '';
  for (let round = 0; round < ROUNDS; round++) {
    const start = performance.now();
    said = await run().catch((error: Error) => `FAILED: ${error.message}`);
    times.push(performance.now() - start);
  }
  const row = { what, median: at(times, 0.5), worst: at(times, 1) };
  print(
    what,
    `median ${row.median.toFixed(1).padStart(7)} ms  worst ${row.worst.toFixed(1).padStart(7)} ms  ${said}`,
  );
  return row;
}

function pagesOf(sample: RequestRecord): [string, LogFilter, number][] {
  const { id, traceId, apiKeyId, workspaceId, provider, model, metadata, userId } = sample;
  const user = metadata._user ?? '';
  const rare = { provider: 'mistral', model: 'mistral-model-39' };
  return [
    ['newest', {}, 0],
    ['100,000 deep', {}, 1000],
    ['one workspace, 50,000 deep', { workspaceIds: [workspaceId] }, 500],
    ['oldest day', { from: BEGIN, until: BEGIN + DAY_MS }, 0],
    ['status 429', { statusCodes: [429] }, 0],
    ['status 418 (none)', { statusCodes: [418] }, 0],
    ['all failures, 20,000 deep', { statusCodes: [400, 401, 404, 408, 429, 500, 502, 503] }, 200],
    ['id', { ids: [id] }, 0],
    ['id (none)', { ids: ['none'] }, 0],
    ['trace', { traceIds: [traceId] }, 0],
    ['100 traces (none)', { traceIds: Array.from({ length: 100 }, (_, i) => `none-${i}`) }, 0],
    ['span (none)', { spanIds: ['none'] }, 0],
    ['API key', { apiKeyIds: [apiKeyId] }, 0],
    ['person', { userIds: [userId ?? ''] }, 0],
    ['user', { users: [user] }, 0],
    ['a rare user', { users: ['user-299999'] }, 0],
    ['100 users', { users: Array.from({ length: 100 }, (_, i) => `user-${200_000 + i * 777}`) }, 0],
    ['provider', { providers: [provider] }, 0],
    ['model', { models: [model] }, 0],
    ['rarest model', { models: [rare.model] }, 0],
    ['provider and model', { providerModels: [rare, { provider, model }] }, 0],
    ['virtual key', { virtualKeys: ['vk-14'] }, 0],
    ['config', { configs: ['pc-11'] }, 0],
    ['prompt', { prompts: ['pp-7'] }, 0],
    ['cache hit', { cacheStatuses: ['HIT'] }, 0],
    ['outcome cancelled (none)', { outcomes: ['cancelled'] }, 0],
    ['metadata pair', { metadata: { environment: 'test' } }, 0],
    ['metadata pairs with a rare user', { metadata: { environment: 'test', _user: 'user-290000' } }, 0],
    ['metadata key (none)', { metadata: { nothing: 'x' } }, 0],
    ['cost', { cost: { min: 35_000_000_000n } }, 0],
    ['cost (none)', { cost: { min: 10n ** 30n } }, 0],
    ['tokens in all', { totalTokens: { min: 7480 } }, 0],
    ['prompt tokens', { promptTokens: { min: 6018 } }, 0],
    ['completion tokens', { completionTokens: { max: 4 } }, 0],
    ['latency', { latencyMs: { min: 20_199 } }, 0],
    ['feedback', { feedback: { min: 1 } }, 0],
    [
      'five conditions, rare',
      {
        statusCodes: [503],
        models: [rare.model],
        cacheStatuses: ['MISS'],
        metadata: { environment: 'test' },
        cost: { max: 0n },
      },
      0,
    ],
    ['text: error', { text: 'context_length' }, 0],
    ['text: a whole id', { text: id }, 0],
    ['text: part of an id', { text: id.slice(3, 15) }, 0],
    ['text: nowhere', { text: 'zzz nowhere' }, 0],
    ['text: nowhere, of hex', { text: 'abcdef0123456789' }, 0],
    ['text: a user', { text: 'user-29999' }, 0],
    ['text over a line break', { text: 'a\nb' }, 0],
  ];
}

const HOUR_MS = 3_600_000;
const SUMS: readonly (readonly [string, LogFilter, LogAggregation])[] = [
  ['all, by day', {}, { bucketMs: DAY_MS }],
  ['all, by hour', {}, { bucketMs: HOUR_MS }],
  ['by hour and status', {}, { bucketMs: HOUR_MS, by: ['statusCode'] }],
  ['by hour and model', {}, { bucketMs: HOUR_MS, by: ['model'] }],
  ['the same without histograms', {}, { bucketMs: HOUR_MS, by: ['model'], latencies: false }],
  ['one workspace, by hour', { workspaceIds: ['ws-3'] }, { bucketMs: HOUR_MS }],
  ['by hour, distinct users', {}, { bucketMs: HOUR_MS, unique: 'user' }],
  ['distinct users', {}, { unique: 'user' }],
  ['models', {}, { by: ['provider', 'model'], take: 50 }],
  ['users, first 50', {}, { by: ['user'], take: 50 }],
  [
    'users by cost, 50 from 1,000',
    {},
    { by: ['user'], order: { measure: 'cost', direction: 'desc' }, skip: 1000, take: 50 },
  ],
  [
    'users with fewest requests',
    {},
    { by: ['user'], order: { measure: 'requests', direction: 'asc' }, take: 50 },
  ],
  ['persons', {}, { by: ['userId'], take: 50 }],
  ['metadata key', {}, { by: [{ metadata: 'environment' }], take: 50 }],
  ['API keys and status', {}, { by: ['apiKey', 'statusCode'], take: 100 }],
  ['cache hits, by hour', { cacheStatuses: ['HIT', 'SEMANTIC HIT'] }, { bucketMs: HOUR_MS }],
  ['failures by status', { statusCodes: [400, 429, 500, 503] }, { by: ['statusCode'] }],
  ['one user, by day', { users: ['user-000005'] }, { bucketMs: DAY_MS }],
  ['dear ones, by day', { cost: { min: 1_000_000_000n } }, { bucketMs: DAY_MS }],
  ['edges within hours', { from: BEGIN + 1_234_567, until: END - 7_654_321 }, { bucketMs: HOUR_MS }],
  ['one day, by minute', { from: END - DAY_MS }, { bucketMs: 60_000 }],
];

/** 500 calls a second as the gateway writes them: 25 entries each 50 milliseconds. */
function traffic(store: LogStore): { stop(): Promise<number[]> } {
  const next = generator(1_000_000);
  const times: number[] = [];
  let running = true;
  let made = 0;
  const done = (async () => {
    while (running) {
      const start = performance.now();
      const batch = Array.from({ length: 25 }, () => ({ ...next(), createdAt: END + made++ * 2 }));
      const sent = performance.now();
      await store.append(batch);
      times.push(performance.now() - sent);
      await sleep(Math.max(0, 50 - (performance.now() - start)));
    }
  })();
  return {
    stop: async () => {
      running = false;
      await done;
      return times;
    },
  };
}

function quantiles(times: readonly number[]): string {
  return `p50 ${at(times, 0.5).toFixed(2)}  p99 ${at(times, 0.99).toFixed(2)}  max ${at(times, 1).toFixed(1)} ms (${times.length})`;
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { withFileTypes: true }).reduce((sum, entry) => {
    const path = join(folder, entry.name);
    return sum + (entry.isDirectory() ? sizeOf(path) : statSync(path).size);
  }, 0);
}

const given = options.folder;
if (given !== undefined) mkdirSync(given, { recursive: true });
const dataDir = given ?? mkdtempSync(join(tmpdir(), 'sluice-logs-'));
const filled = existsSync(join(dataDir, 'sluice.db'));
try {
  const { requestLog: store, close } = await openSqliteStore({ dataDir, collections: [] });
  if (!filled) {
    await fill(store);
    await store.addFeedback(
      (await store.page(scope, {}, { page: 0, pageSize: 200, order: 'desc' })).entries.map((entry, i) => ({
        id: `f-${i}`,
        organisationId: ORGANISATION,
        workspaceId: entry.workspaceId,
        traceId: entry.traceId,
        value: (i % 21) - 10,
        weight: 1,
        metadata: {},
        createdAt: END,
        updatedAt: END,
        apiKeyId: 'k',
      })),
    );
    await sleep(3000);
  }
  if (options.fill) {
    await close();
    process.exit();
  }
  print('data folder', `${(sizeOf(dataDir) / 1e6).toFixed(0)} MB`);
  const quiet = traffic(store);
  await sleep(10_000);
  const calm = await quiet.stop();

  const calls = traffic(store);
  const sample = (await store.page(scope, {}, { page: 300, pageSize: 100, order: 'desc' })).entries[7]!;
  const rows: Row[] = [];
  console.log('\npages of 100, with 500 entries/s appended meanwhile');
  for (const [what, filter, page] of pagesOf(sample)) {
    rows.push(
      await measured(what, async () => {
        const found = await store.page(scope, filter, { page, pageSize: 100, order: 'desc' });
        return `${found.entries.length} of ${found.total}${found.totalCapped ? '+' : ''}`;
      }),
    );
  }
  rows.push(
    await measured('1,000 of a page, scattered', async () => {
      const found = await store.page(
        scope,
        { models: ['mistral-model-39'] },
        { page: 2, pageSize: 1000, order: 'asc' },
      );
      return `${found.entries.length} of ${found.total}`;
    }),
    await measured('one entry by its id', async () =>
      (await store.get(scope, sample.id)) ? 'found' : 'MISSING',
    ),
  );
  const month = { from: BEGIN, until: END };
  const sums: Row[] = [];
  for (const title of ['before sums are kept', 'with sums kept']) {
    console.log(`\nsums over 30 days, ${title}`);
    for (const [what, filter, aggregation] of SUMS) {
      sums.push(
        await measured(what, async () => {
          const found = await store.aggregate(scope, { ...month, ...filter }, aggregation);
          return `${found.rows.length} rows, ${found.source}`;
        }),
      );
    }
    if (title === 'with sums kept') break;
    const start = performance.now();
    await store.expire({ logDays: 31, bodyDays: 31, metricDays: 365 }, END + 2 * HOUR_MS);
    print('\nsums of 30 days made', `${(performance.now() - start).toFixed(0)} ms`);
  }
  const drops: number[] = [];
  for (let day = 1; day <= 3; day++) {
    // Sums of what was appended meanwhile are made before: this is about dropping.
    await store.expire({ logDays: 31, bodyDays: 31, metricDays: 365 }, END + day * DAY_MS);
    const start = performance.now();
    const names = await store.expire({ logDays: 30, bodyDays: 30, metricDays: 365 }, END + day * DAY_MS);
    drops.push(performance.now() - start);
    print(`\na day dropped: ${names.join(', ')}`, `${(drops.at(-1) ?? 0).toFixed(0)} ms`);
  }
  const busy = await calls.stop();
  console.log();
  const worst = (list: readonly Row[]): Row => list.toSorted((a, b) => b.worst - a.worst)[0]!;
  for (const [title, list] of [
    ['page', rows],
    ['sum', sums],
  ] as const) {
    const { what, median, worst: most } = worst(list);
    print(`slowest ${title}`, `${most.toFixed(1)} ms (median ${median.toFixed(1)}): ${what}`);
  }
  print('append of 25 entries, nothing else going on', quantiles(calm));
  print('append of 25 entries, while all this went on', quantiles(busy));
  print('p99 of appends rose by', `${(at(busy, 0.99) - at(calm, 0.99)).toFixed(2)} ms`);
  print('resident memory', `${(process.memoryUsage.rss() / 1e6).toFixed(0)} MB`);
  await close();
} finally {
  if (given === undefined) rmSync(dataDir, { recursive: true, force: true });
}
