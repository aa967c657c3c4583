// One run of the proof: gateways under load, killed again and again; then the books are closed and compared.
import { randomBytes } from 'node:crypto';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { apiKeys } from '../../src/access/identity-collections.ts';
import { COLLECTIONS } from '../../src/app/stores.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { budgetRule } from '../../src/ledger/limits/rule.ts';
import { budgetKey } from '../../src/ledger/limits/usage.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Json, limitsClient, until } from '../support/limits-client.ts';
import type { OwnMongo, OwnRedis } from '../support/servers.ts';
import { startCountingProvider } from './counting-provider.ts';
import { type Gateway, startGateway } from './fleet.ts';
import { type Calls, load } from './load.ts';
import { type BudgetSide, type Row, reconcile } from './reconcile.ts';

export interface ProofOptions {
  readonly seconds: number;
  /** Between two kills, in seconds. */
  readonly killEvery: number;
  readonly lanes: number;
  /** Undefined: one embedded process. */
  readonly servers: { readonly redis: OwnRedis; readonly mongo: OwnMongo } | undefined;
  readonly say: (line: string) => void;
}

export interface Proof {
  readonly rows: readonly Row[];
  readonly calls: Calls;
  readonly kills: number;
  /** What gateways logged of level error or worse. */
  readonly errors: readonly string[];
}

const PROCESSES = 3;
/** A process counts as gone after half of it: longer than a start takes on a busy machine. */
const HOLD_SECONDS = 90;
/** Calls that come to their end between two kills, however busy the machine is. */
const CALLS_BETWEEN = 10;
const SLOWEST_BEAT_MS = 30_000;
/** How long the books may take to close behind the load. */
const CLOSE_MS = 240_000;
const DATABASE = 'sluice_proof';

export async function prove(options: ProofOptions): Promise<Proof> {
  const { servers, seconds, killEvery, lanes, say } = options;
  const provider = await startCountingProvider();
  const env = environment(servers);
  const gateways: Gateway[] = [];
  try {
    for (let i = 0; i < (servers ? PROCESSES : 1); i++) gateways.push(await startGateway(env));
    const [first] = gateways as [Gateway];
    const client = limitsClient(first, provider as never);
    const plain = await client.key({});
    const cost = await client.key({ usage_limits: { type: 'cost', credit_limit: 100_000 } });
    const tokens = await client.key({ usage_limits: { type: 'tokens', credit_limit: 1_000_000_000 } });
    const rated = await client.key({ rate_limits: [{ type: 'requests', unit: 'rpm', value: 10_000_000 }] });
    // The other processes learn of the keys.
    await sleep(servers ? 2000 : 0);

    let over = false;
    const calling = load({
      provider: provider.origin,
      lanes,
      over: () => over,
      gateways: gateways.map(({ origin }) => origin),
      keys: [plain.key, cost.key, tokens.key, rated.key],
    });
    const { kills, atStart } = await killing(gateways, calling.calls, options).finally(() => {
      over = true;
    });
    const calls = await calling.ended;
    say(
      `${calls.made} calls in ${seconds} s, ${kills} kills, ${atStart} of them at a start; ${statusText(calls)}`,
    );
    for (const gateway of gateways) await gateway.up();
    say('closing the books');
    // What killed processes left is swept while gateways run.
    await until(
      () => heldUsage(client.admin, [cost.id, tokens.id]),
      (held) => held === 0,
      CLOSE_MS,
    );
    await until(
      async () => foldersOf(gateways),
      (folders) => folders === gateways.length,
      CLOSE_MS,
    );
    for (const gateway of gateways)
      await until(
        () => journalOf(gateway),
        (entries) => entries === 0,
        CLOSE_MS,
      );
    if (servers)
      await until(
        () => redisLeft(servers.redis.url),
        (left) => left === 0,
        CLOSE_MS,
      );
    for (const gateway of gateways) await gateway.stop();
    const books = await readBooks(servers, first.dataDir, [
      { keyId: cost.id, type: 'cost' },
      { keyId: tokens.id, type: 'tokens' },
    ]);
    const rows = reconcile({
      seen: provider.seen,
      twice: provider.twice,
      nameless: provider.nameless(),
      whole: calls.whole,
      entries: books.entries,
      budgets: books.budgets,
      holds: books.holds,
      left: books.left + foldersOf(gateways),
    });
    say(`${killEvery} s between kills`);
    return { rows, calls, kills, errors: gateways.flatMap(errorsOf) };
  } finally {
    for (const gateway of gateways) await gateway.stop();
    for (const gateway of gateways) gateway.remove();
    await provider.close();
  }
}

function environment(servers: ProofOptions['servers']): Record<string, string> {
  const common = {
    GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
    GATEWAY_API_KEY: WORKSPACE_KEY,
    LOG_LEVEL: 'info',
    GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
    GATEWAY_DRAIN_SECONDS: '5',
    GATEWAY_HOLD_SECONDS: String(HOLD_SECONDS),
    GATEWAY_LOG_BODIES: 'none',
  };
  if (servers === undefined) return common;
  const uri = new URL(servers.mongo.uri);
  uri.pathname = `/${DATABASE}`;
  return {
    ...common,
    MONGODB_URI: uri.href,
    REDIS_URL: servers.redis.url,
    GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
  };
}

/**
 * Kills a process at random at every beat until the time is over, while others may still be starting; Redis once, in the
 * middle. A beat waits for some calls. Answers how often, and how often one that was starting.
 */
async function killing(
  gateways: readonly Gateway[],
  calls: Calls,
  options: ProofOptions,
): Promise<{ readonly kills: number; readonly atStart: number }> {
  const { seconds, killEvery, servers, say } = options;
  const begin = performance.now();
  let redisBack: Promise<void> | undefined;
  let [kills, atStart] = [0, 0];
  for (let beat = 1; beat * killEvery < seconds; beat++) {
    await sleep(Math.max(0, begin + beat * killEvery * 1000 - performance.now()));
    await until(
      async () => calls.whole.size,
      (whole) => whole >= beat * CALLS_BETWEEN,
      SLOWEST_BEAT_MS,
    );
    if (servers && redisBack === undefined && beat * killEvery >= seconds / 2) {
      redisBack = servers.redis.restart();
      say('Redis restarted');
    }
    const alive = gateways.filter((gateway) => gateway.mayBeKilled());
    const gateway = alive[Math.floor(Math.random() * alive.length)];
    if (gateway === undefined) continue;
    if (gateway.kill()) atStart++;
    kills++;
  }
  await sleep(Math.max(0, begin + seconds * 1000 - performance.now()));
  await redisBack;
  return { kills, atStart };
}

/** Entries on their way, as its metrics say. */
async function journalOf({ origin }: Gateway): Promise<number> {
  const text = await fetch(`${origin}/metrics`).then((answer) => answer.text());
  return Number(/^sluice_journal_entries (\d+)$/m.exec(text)?.[1]);
}

async function heldUsage(
  admin: (verb: string, path: string) => Promise<Json>,
  ids: readonly string[],
): Promise<number> {
  let held = 0;
  for (const id of ids) {
    const record = await admin('GET', `/api-keys/${id}`).catch(() => undefined);
    const limit = record?.usage_limits as Json | undefined;
    held += Number(limit?.held_usage ?? 1);
  }
  return held;
}

interface Books {
  readonly entries: readonly RequestRecord[];
  readonly budgets: readonly BudgetSide[];
  readonly holds: number;
  readonly left: number;
}

/** The stores themselves, when nobody uses them any more. */
async function readBooks(
  servers: ProofOptions['servers'],
  dataDir: string,
  keys: readonly Pick<BudgetSide, 'keyId' | 'type'>[],
): Promise<Books> {
  const store = servers
    ? await openMongoStore({ uri: servers.mongo.uri, database: DATABASE, collections: COLLECTIONS })
    : await openSqliteStore({ dataDir, collections: COLLECTIONS });
  const state = servers
    ? openRedisState({ url: servers.redis.url, deadlineMs: 5000 })
    : await openMemoryState({ dataDir });
  try {
    if (servers)
      await until(
        () =>
          state.ready().then(
            () => true,
            () => false,
          ),
        Boolean,
        5000,
      );
    const entries: RequestRecord[] = [];
    for (let after: string | undefined; ; ) {
      const batch = await store.logMaintenance.scan({ after, limit: 1000 });
      entries.push(...batch.entries);
      after = batch.next;
      if (after === undefined) break;
    }
    const org = entries[0]?.organisationId ?? '';
    const budgets: BudgetSide[] = [];
    for (const { keyId, type } of keys) {
      const key = await store.documents.get({ organisationId: org, workspaceId: undefined }, apiKeys, keyId);
      const { usageLimits = {}, usageResetAt } = key?.body ?? {};
      const rule = budgetRule(usageLimits, `key:${keyId}`, '', usageResetAt);
      const { spent, held } = await state.readBudget(org, { key: budgetKey(rule, Date.now()) });
      budgets.push({ keyId, type, spent, held });
    }
    return { entries, budgets, holds: await holdsIn(state, org), left: (await state.readJournal(org)).size };
  } finally {
    await state.close();
    await store.close();
  }
}

/** Holds that expired long ago are swept by this; those that did not are counted by what they hold. */
async function holdsIn(state: SharedState, org: string): Promise<number> {
  const swept = await state.sweep(org, { owner: 'proof', leaseMs: 1000, max: 1000 });
  return swept.length;
}

/** Holds and entries that wait in Redis. */
async function redisLeft(url: string): Promise<number> {
  const redis = new Redis(url);
  try {
    let left = 0;
    for (const key of await redis.keys('sluice:*:x')) left += await redis.zcard(key);
    for (const key of await redis.keys('sluice:*:j')) left += await redis.xlen(key);
    return left;
  } finally {
    redis.disconnect();
  }
}

/** Folders of processes' flights: one of each that runs, and those that nobody replayed. */
function foldersOf(gateways: readonly Gateway[]): number {
  return gateways.reduce((sum, { dataDir }) => {
    const folder = join(dataDir, 'flights');
    return sum + (existsSync(folder) ? readdirSync(folder).filter((name) => name !== 'store.id').length : 0);
  }, 0);
}

function errorsOf({ output }: Gateway): string[] {
  return output()
    .split('\n')
    .filter((line) => /"level":(50|60)/.test(line));
}

function statusText({ statuses }: Calls): string {
  return [...statuses].map(([what, count]) => `${count} x ${what}`).join(', ');
}
