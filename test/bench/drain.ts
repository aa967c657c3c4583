// What carrying entries from the journal in Redis to MongoDB costs the gateway, and whether admission waits for it.
// node test/bench/drain.ts [ENTRIES] prints microseconds of CPU an entry: of those that this process has written itself,
// as nearly all are, and of those that others left there, which are read first; and how long an admission takes with and
// without it.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { COLLECTIONS } from '../../src/app/stores.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { Journal } from '../../src/ledger/journal.ts';
import type { Own } from '../../src/ledger/own-entries.ts';
import { encodeEntry } from '../../src/store/log/entry-text.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import { logEntry } from '../store/log-entries.ts';
import { startOwnMongo, startOwnRedis } from '../support/servers.ts';
import { median } from './median.ts';

const ENTRIES = Number(process.argv[2] ?? 2000);
const ROUNDS = 5;
const ORG = 'org-1';
const BATCH = 500;

const [redis, mongo] = await Promise.all([startOwnRedis(), startOwnMongo()]);
if (!redis || !mongo) throw new Error('redis-server and a server of MongoDB’s protocol are needed');
const state = openRedisState({ url: redis.url, deadlineMs: 10_000 });
const store = await openMongoStore({ uri: mongo.uri, database: 'bench', collections: COLLECTIONS });
while (
  !(await state.ready().then(
    () => true,
    () => false,
  ))
)
  await sleep(20);
const onTrouble = (error: unknown): never => {
  throw error;
};
const journal = new Journal({
  state,
  store: store.requestLog,
  owner: 'bench',
  organisations: () => [],
  onTrouble,
});

const entryNow = (): RequestRecord =>
  logEntry({ id: randomUUID(), traceId: randomUUID(), createdAt: Date.now() });

/** What others have written. */
async function fill(): Promise<void> {
  for (let i = 0; i < ENTRIES; i += BATCH) {
    const entries = Array.from({ length: BATCH }, () => {
      const entry = entryNow();
      return { id: entry.id, data: encodeEntry(entry) };
    });
    await state.appendJournal(ORG, { entries, maxLength: 1_000_000 });
  }
  journal.mark(ORG);
}

/** What this process has written, as admission does with the settlement of a call. */
async function fillOwn(): Promise<void> {
  const one = async (): Promise<void> => {
    const entry = entryNow();
    const { id } = entry;
    const text = encodeEntry(entry);
    const claim = journal.own.claim();
    if (claim === undefined) throw new Error('there is no room for so many');
    const written = { id, data: text, claim };
    const { seq = '' } = await state.settle(ORG, { id, orphan: 'charge', entry: written });
    made.push({ organisationId: ORG, seq, entry, text, at: performance.now() });
  };
  const made: Own[] = [];
  for (let i = 0; i < ENTRIES; i += BATCH) await Promise.all(Array.from({ length: BATCH }, one));
  // All at once: none is carried before the clock runs.
  for (const own of made) journal.own.add(own);
}

/** Milliseconds of an admission, and of its settlement, while something goes on. */
async function admissions(during: Promise<unknown>): Promise<number> {
  const times: number[] = [];
  let over = false;
  void during.then(() => {
    over = true;
  });
  while (!over) {
    const id = randomUUID();
    const start = performance.now();
    const limits = [{ kind: 'budget', key: 'b', amount: 1n } as const];
    await state.admit(ORG, { limits, hold: { id, owner: 'bench', leaseMs: 60_000 } });
    times.push(performance.now() - start);
    await state.settle(ORG, { id, charges: [{ key: 'b', amount: 1n }] });
    await sleep(5);
  }
  return median(times);
}

for (const [what, filled] of [
  ['written by this process', fillOwn],
  ['left by others', fill],
] as const) {
  const costs: number[] = [];
  const rates: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await filled();
    const [start, before] = [performance.now(), process.cpuUsage()];
    await journal.flush();
    const { user, system } = process.cpuUsage(before);
    costs.push((user + system) / ENTRIES);
    rates.push(ENTRIES / ((performance.now() - start) / 1000));
  }
  const { size } = await state.readJournal(ORG);
  if (size > 0) throw new Error(`${size} entries are left`);
  console.log(
    `${what}: ${Math.min(...costs).toFixed(1)} us CPU an entry at the best, ${median(costs).toFixed(1)} in the median; ${Math.max(...rates).toFixed(0)} entries/s`,
  );
}
const alone = await admissions(sleep(2000));
await fill();
const beside = await admissions(journal.flush());
console.log(
  `an admission takes ${alone.toFixed(2)} ms alone, ${beside.toFixed(2)} ms while entries are carried`,
);
await journal.close();
await state.close();
await store.close();
await redis.stop();
await mongo.stop();
process.exit(0);
