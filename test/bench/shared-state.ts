// Measures shared state and prints a table: node test/bench/shared-state.ts [calls, 20,000 by default].
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { Limit, SharedState } from '../../src/store/shared-state.ts';
import { startOwnRedis } from '../support/servers.ts';

const CALLS = Number(process.argv[2] ?? 20_000);
const LANES = 64;

const window = (key: string, windowMs: number, cost: number): Limit => ({
  kind: 'window',
  key,
  limit: 1_000_000_000,
  windowMs,
  cost,
});
const budget = (key: string): Limit => ({ kind: 'budget', key, cap: 10n ** 20n, amount: 123_456_789_012n });
const slots: Limit = { kind: 'slots', key: 's', limit: 10_000 };

/** What applies to a call, and what its settlement corrects. */
const SETS: readonly {
  readonly name: string;
  readonly limits: readonly Limit[];
  readonly journal: boolean;
}[] = [
  { name: '1 window, no hold', limits: [window('r', 60_000, 1)], journal: false },
  { name: '1 window, 1 budget', limits: [window('r', 60_000, 1), budget('b')], journal: false },
  {
    name: '2 windows, 2 budgets, 1 slot, journal',
    limits: [window('r', 60_000, 1), window('t', 60_000, 900), budget('b'), budget('c'), slots],
    journal: true,
  },
];
const ENTRY = JSON.stringify({
  model: 'm',
  usage: { promptTokens: 100, completionTokens: 20 },
  note: 'x'.repeat(300),
});

function print(what: string, figure: string): void {
  console.log(`${what.padEnd(58)} ${figure}`);
}

/** Calls of one portion: figures are medians of portions, because other processes disturb some of them. */
const PORTION = 1000;

interface Portion {
  readonly perSecond: number;
  /** Microseconds of the main thread per request. */
  readonly mainUs: number | undefined;
  /** The most that the main thread worked in one turn of its event loop, in milliseconds of its own CPU time. */
  readonly longestTurnMs: number;
  readonly admitMs: readonly number[];
}

/** Admits and settles a portion in lanes. */
async function portion(state: SharedState, place: number, first: number): Promise<Portion> {
  const { limits, journal } = SETS[place] as (typeof SETS)[number];
  const bare = limits.every(({ kind }) => kind === 'window');
  const org = `bench-${place}`;
  const admitMs: number[] = [];
  let next = first;
  const lane = async (): Promise<void> => {
    for (let i = next++; i < first + PORTION; i = next++) {
      const [id, started] = [`call-${i}`, performance.now()];
      const hold = { id, owner: 'bench', leaseMs: 60_000 };
      const { outcome } = await state.admit(org, bare ? { limits } : { limits, hold });
      if (outcome !== 'admitted') throw new Error(outcome);
      admitMs.push(performance.now() - started);
      if (bare) continue;
      const entry = journal ? { entry: { id, data: ENTRY } } : {};
      await state.settle(org, { id, charges: [{ key: 'b', amount: 99_999_999_999n }], ...entry });
    }
  };
  // Watching takes all of the thread that is left, so that it is another portion's than the one for CPU time.
  const turns = (first / PORTION) % 2 === 1 ? watchTurns() : undefined;
  const [started, cpu] = [performance.now(), process.threadCpuUsage()];
  await Promise.all(Array.from({ length: LANES }, lane));
  const seconds = (performance.now() - started) / 1000;
  const { user, system } = process.threadCpuUsage(cpu);
  return {
    perSecond: PORTION / seconds,
    mainUs: turns ? undefined : (user + system) / PORTION,
    longestTurnMs: turns?.stop() ?? 0,
    admitMs,
  };
}

/** CPU time, not the clock: what other processes take of the machine is not the store's blocking. */
function watchTurns(): { stop: () => number } {
  let [longest, before] = [0, process.threadCpuUsage()];
  const look = (): void => {
    const used = process.threadCpuUsage(before);
    longest = Math.max(longest, used.user + used.system);
    before = process.threadCpuUsage();
    turn = setImmediate(look);
  };
  let turn = setImmediate(look);
  return {
    stop: () => {
      clearImmediate(turn);
      return longest / 1000;
    },
  };
}

function quantile(list: readonly number[], q: number): number {
  const sorted = [...list].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * q))] ?? 0;
}

/** Runs a set in portions and prints their medians; `around` measures what it wants around each. */
async function run(
  name: string,
  state: SharedState,
  place: number,
  around: (portion: () => Promise<void>) => Promise<void> = (one) => one(),
): Promise<void> {
  const portions: Portion[] = [];
  for (let first = 0; first < CALLS; first += PORTION) {
    await around(async () => {
      portions.push(await portion(state, place, first));
    });
  }
  // What is compiled on the way is not the store's.
  portions.splice(0, 2);
  const median = (of: (one: Portion) => number | undefined): string =>
    quantile(
      portions.map(of).filter((figure) => figure !== undefined),
      0.5,
    ).toFixed(0);
  const admitMs = portions.flatMap((one) => one.admitMs);
  const longest = Math.max(...portions.map((one) => one.longestTurnMs));
  print(
    `${name}: ${SETS[place]?.name}`,
    `${median((one) => one.perSecond)} requests/s, admit p50 ${quantile(admitMs, 0.5).toFixed(2)} p99 ` +
      `${quantile(admitMs, 0.99).toFixed(2)} ms, main thread ${median((one) => one.mainUs)} us a request, ` +
      `longest turn ${longest.toFixed(1)} ms`,
  );
}

async function redisBench(): Promise<void> {
  const server = await startOwnRedis();
  if (!server) return print('redis', 'NOT MEASURED: there is no redis-server');
  const state = openRedisState({ url: server.url, deadlineMs: 10_000 });
  const redis = new Redis(server.url);
  await redis.ping();
  await state.ready();
  for (const place of SETS.keys()) {
    const us: number[] = [];
    await run('redis', state, place, async (one) => {
      await redis.config('RESETSTAT');
      await one();
      const stats = await redis.info('commandstats');
      us.push(Number(/cmdstat_evalsha:calls=\d+,usec=(\d+)/.exec(stats)?.[1]) / PORTION);
    });
    print(
      '',
      `redis ${quantile(us, 0.5).toFixed(1)} us a request, in quiet moments ${quantile(us, 0).toFixed(1)} us`,
    );
  }
  redis.disconnect();
  await state.close();
  await server.stop();
}

async function embeddedBench(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'));
  const state = await openMemoryState({ dataDir });
  for (const place of SETS.keys()) await run('embedded', state, place);
  await sleep(100);
  await state.close();
  rmSync(dataDir, { recursive: true });
}

// The clock of CPU time has steps of its own (4 ms on some systems): what it says of nothing at all.
const turns = watchTurns();
await sleep(1000);
print('nothing', `longest turn ${turns.stop().toFixed(1)} ms`);
await embeddedBench();
await redisBench();
