// What limits cost a call: admission and settlement, the rules' matching with them.
//   node test/bench/limits.ts [CALLS]
// Prints microseconds of CPU in the process (its threads too), on Redis as `INFO commandstats` counts them, and
// round trips, for one limit and for 50 policies of which 5 apply.

import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { Journal } from '../../src/ledger/journal.ts';
import { Admission } from '../../src/ledger/limits/admission.ts';
import { PolicySet } from '../../src/ledger/limits/policy-set.ts';
import { RetryQueue } from '../../src/ledger/limits/retry-queue.ts';
import { type Carrier, rulesOf } from '../../src/ledger/limits/rules-of.ts';
import { rateLimitPolicies, usageLimitPolicies } from '../../src/ledger/policies.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { timeOrderedId } from '../../src/lib/time-ordered-id.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openRedisState } from '../../src/store/redis/open-redis.ts';
import type { SharedState } from '../../src/store/shared-state.ts';
import { logEntry } from '../store/log-entries.ts';
import { applyDocument } from '../support/apply-document.ts';
import { startOwnRedis } from '../support/servers.ts';

const CALLS = Number(process.argv[2] ?? 20_000);
const AT_ONCE = 32;
const BOUND = 100_000_000;
const prices = openPriceList();
const onTrouble = (error: unknown): never => {
  throw error;
};

const done = (): void => {};
const ENTRY = logEntry({ id: 'entry' });

interface Case {
  readonly name: string;
  readonly policies: number;
  readonly carrier: Carrier | undefined;
}

const CASES: readonly Case[] = [
  {
    name: 'one rate of requests',
    policies: 0,
    carrier: {
      id: 'key:k',
      name: 'k',
      carried: { rateLimits: [{ type: 'requests', unit: 'rpm', value: BOUND }] },
    },
  },
  {
    name: 'one budget of money',
    policies: 0,
    carrier: {
      id: 'key:k',
      name: 'k',
      carried: { usageLimits: { type: 'cost', credit_limit: BOUND } },
    },
  },
  { name: '50 policies, 5 apply', policies: 50, carrier: undefined },
];

/** Every tenth applies: two rates of requests, one of tokens, two budgets. */
function policySet(count: number, organisationId: string): PolicySet {
  const set = new PolicySet();
  for (let i = 0; i < count; i++) {
    const applies = i % 10 === 0;
    const group = [{ key: 'metadata.team', values: [applies ? '*' : `team-${i}`] }];
    const common = { conditions: group, groupBy: ['metadata.team', 'api_key'] };
    const budget = i % 20 === 10;
    const body = budget
      ? { ...common, type: 'cost', creditLimit: BOUND }
      : { ...common, type: i === 20 ? 'tokens' : 'requests', unit: 'rpm', value: BOUND };
    const times = { createdAt: 1, updatedAt: 1, version: 1, schemaVersion: 1 };
    applyDocument(set, (budget ? usageLimitPolicies : rateLimitPolicies).name, {
      id: randomUUID(),
      organisationId,
      status: 'active',
      body,
      ...times,
    });
  }
  return set;
}

async function run(
  state: SharedState,
  { policies, carrier }: Case,
): Promise<{ us: number; perSecond: number }> {
  const organisationId = randomUUID();
  const set = policySet(policies, organisationId);
  const later = new RetryQueue({ everyMs: 1000, most: 0, onTrouble });
  const store = { append: async () => {} };
  const journal = new Journal({ state, store, owner: 'bench', organisations: () => [], onTrouble });
  const admission = new Admission({
    state,
    prices,
    owner: randomUUID(),
    leaseMs: 60_000,
    later,
    journal,
    now: Date.now,
    onTrouble,
  });
  const metadata = { team: 'a', user: 'b', environment: 'production' };
  const subject = () => ({ organisationId, workspaceId: 'w', workspaceSlug: 'ws', keyId: 'k', metadata });
  const usage = { promptTokens: 100, completionTokens: 50, totalTokens: 150 };
  const call = async (): Promise<void> => {
    const id = timeOrderedId();
    const rules = rulesOf(subject, organisationId, set, [carrier]);
    const estimate = { input: 120, output: 1024 };
    const ticket = await admission.admit({
      id,
      organisationId,
      rules,
      estimate,
      model: 'gpt-4o',
      provider: 'openai',
      call: { ...ENTRY, id },
    });
    const attempt = {
      provider: 'openai',
      host: 'h',
      model: 'gpt-4o',
      statusCode: 200,
      outcome: 'success' as const,
    };
    const attempts = [{ ...attempt, id, startedAt: Date.now(), latencyMs: 1, usage }];
    await admission.settle(ticket, {
      attempts,
      failed: false,
      entry: { ...ENTRY, id, attempts },
      done,
      unwritten: done,
    });
  };
  const many = async (count: number): Promise<void> => {
    let left = count;
    const lane = async (): Promise<void> => {
      while (left-- > 0) await call();
    };
    await Promise.all(Array.from({ length: AT_ONCE }, lane));
  };
  await many(Math.ceil(CALLS / 5));
  const [start, before] = [performance.now(), process.cpuUsage()];
  await many(CALLS);
  const { user, system } = process.cpuUsage(before);
  await journal.close();
  later.stop();
  return { us: (user + system) / CALLS, perSecond: (CALLS / (performance.now() - start)) * 1000 };
}

function print(where: string, name: string, figures: readonly (readonly [string, string])[]): void {
  const text = figures.map(([label, value]) => `${value} ${label}`).join('   ');
  console.log(`${where.padEnd(9)} ${name.padEnd(22)} ${text}`);
}

const server = await startOwnRedis();
if (server === undefined) console.log('no Redis on this machine: the embedded store alone');
else {
  const state = openRedisState({ url: server.url, deadlineMs: 5000 });
  const probe = new Redis(server.url);
  while (
    !(await state.ready().then(
      () => true,
      () => false,
    ))
  )
    await sleep(20);
  for (const each of CASES) {
    await run(state, { ...each });
    await probe.config('RESETSTAT');
    const { us, perSecond } = await run(state, each);
    const info = await probe.info('commandstats');
    const [, calls = '0', total = '0'] = /cmdstat_evalsha:calls=(\d+),usec=(\d+)/.exec(info) ?? [];
    // Warming up is counted there as well.
    const all = CALLS + Math.ceil(CALLS / 5);
    print('redis', each.name, [
      ['us CPU of the gateway', us.toFixed(1)],
      ['us on Redis', (Number(total) / all).toFixed(1)],
      ['round trips', (Number(calls) / all).toFixed(2)],
      ['calls/s', perSecond.toFixed(0)],
    ]);
  }
  probe.disconnect();
  await state.close();
  await server.stop();
}
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-limits-'));
const state = await openMemoryState({ dataDir });
for (const each of CASES) {
  const { us, perSecond } = await run(state, each);
  print('embedded', each.name, [
    ['us CPU, the store’s thread included', us.toFixed(1)],
    ['calls/s', perSecond.toFixed(0)],
  ]);
}
await state.close();
rmSync(dataDir, { recursive: true, force: true });
