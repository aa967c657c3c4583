// Budgets against the entries that were charged to them: what differs is told, and put right.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import { verifyCommand } from '../../../src/app/verify.ts';
import type { RequestRecord } from '../../../src/call/record.ts';
import { type VerifyDeps, verifyBudgets } from '../../../src/ledger/verify/verify.ts';
import { readSettings } from '../../../src/settings.ts';
import { openMemoryState } from '../../../src/store/memory/open-memory.ts';
import type { SharedState } from '../../../src/store/shared-state.ts';
import { logEntry } from '../../store/log-entries.ts';
import { startFakeProvider } from '../../support/fake-provider.ts';
import { startGateway } from '../../support/gateway.ts';
import { type Json, limitsClient } from '../../support/limits-client.ts';

const ORG = 'org-1';

function folderOf(t: ExecutionContext): string {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-verify-'));
  t.teardown(() => rmSync(dataDir, { recursive: true, force: true }));
  return dataDir;
}

async function stateOf(t: ExecutionContext): Promise<SharedState> {
  const state = await openMemoryState({ dataDir: folderOf(t) });
  t.teardown(() => state.close());
  return state;
}

function charged(id: string, given: Partial<RequestRecord>): RequestRecord {
  const entry = logEntry({ id });
  return { ...entry, ...given, attempts: entry.attempts.map((one) => ({ ...one, cost: '70' })) };
}

function factsOf(
  state: SharedState,
  entries: readonly RequestRecord[],
  more: Partial<VerifyDeps> = {},
): VerifyDeps {
  return {
    state,
    flush: async () => undefined,
    keptSince: 0,
    countsSince: async () => 0,
    scan: async ({ after = '0', limit }) => {
      const end = Number(after) + Math.min(limit, 2);
      return {
        entries: entries.slice(Number(after), end),
        ...(end < entries.length ? { next: String(end) } : {}),
      };
    },
    ...more,
  };
}

const spend = (state: SharedState, key: string, to: bigint) =>
  state.correctBudget(ORG, { key, from: 0n, to });

test('each budget is the sum of what names it: of calls and of attempts, in what it counts', async (t) => {
  const state = await stateOf(t);
  const cost = charged('1', { budgets: ['c:0.5', 'tokens|t:0.5', 'requests|r:0.5'] });
  const failed = charged('2', { budgets: ['requests|r:0.5'], outcome: 'error' });
  const of = cost.attempts.map((one) => ({ ...one, budgets: ['p:0.5'] }));
  const entries = [
    cost,
    { ...failed, attempts: [] },
    { ...charged('3', {}), attempts: of },
    charged('4', { budgets: ['c:0.5'] }),
  ];
  await spend(state, 'c:0.5', 140n);
  await spend(state, 't:0.5', 168n);
  await spend(state, 'r:0.5', 1n);
  await spend(state, 'p:0.5', 60n);
  const deps = factsOf(state, entries);
  const { budgets, entries: read } = await verifyBudgets(deps, undefined, false);
  t.is(read, 4);
  t.deepEqual(Object.fromEntries(budgets.map(({ key, outcome }) => [key, outcome])), {
    'c:0.5': 'equal',
    't:0.5': 'equal',
    'r:0.5': 'equal',
    'p:0.5': 'differs',
  });
  t.is((await state.readBudget(ORG, { key: 'p:0.5' })).spent, 60n, 'nothing is written');
  const rebuilt = await verifyBudgets(deps, ORG, true);
  t.like(
    rebuilt.budgets.find(({ key }) => key === 'p:0.5'),
    { outcome: 'corrected', spent: 60n, entries: 70n },
  );
  t.is((await state.readBudget(ORG, { key: 'p:0.5' })).spent, 70n);
  t.true((await verifyBudgets(deps, ORG, true)).budgets.every(({ outcome }) => outcome === 'equal'));
  t.is((await verifyBudgets(deps, 'another', true)).budgets.length, 0);
});

test('periods that are over, and those that began before the log, are left alone', async (t) => {
  const state = await stateOf(t);
  const entries = [charged('1', { budgets: ['over:0.5', 'old:0.5', 'reset:0.5'], createdAt: 1000 })];
  for (const key of ['over:0.5', 'old:0.5', 'reset:0.5']) await spend(state, key, 999n);
  const countsSince = async (_: string, key: string) =>
    key.startsWith('over') ? undefined : key.startsWith('reset') ? 2000 : 0;
  const found = await verifyBudgets(factsOf(state, entries, { countsSince, keptSince: 1500 }), ORG, true);
  t.deepEqual(
    found.budgets.map(({ key, outcome }) => [key, outcome]),
    [
      ['old:0.5', 'older'],
      ['reset:0.5', 'older'],
    ],
  );
  // The log reaches back: its oldest entry is younger than what is dropped.
  const whole = await verifyBudgets(factsOf(state, entries, { countsSince, keptSince: 500 }), ORG, true);
  t.deepEqual(
    whole.budgets.map(({ key, outcome, entries: sum }) => [key, outcome, sum]),
    [
      ['old:0.5', 'corrected', 70n],
      ['reset:0.5', 'corrected', 0n],
    ],
  );
});

test('calls that are charged meanwhile make no difference, and are not lost by a correction', async (t) => {
  const state = await stateOf(t);
  const entries = [charged('1', { budgets: ['c:0.5'] })];
  await spend(state, 'c:0.5', 5n);
  let scans = 0;
  const deps = factsOf(state, entries);
  const scan: VerifyDeps['scan'] = async (request) => {
    // A call is settled between what is read of the budget and of the log, three times.
    if (scans++ > 0 && scans < 5) {
      const { spent } = await state.readBudget(ORG, { key: 'c:0.5' });
      await state.correctBudget(ORG, { key: 'c:0.5', from: spent, to: spent + 70n });
      entries.push(charged(`c${scans}`, { budgets: ['c:0.5'] }));
    }
    return deps.scan(request);
  };
  const { budgets } = await verifyBudgets({ ...deps, scan }, ORG, true);
  const { spent } = await state.readBudget(ORG, { key: 'c:0.5' });
  t.is(budgets[0]?.outcome, 'corrected');
  t.is(spent, BigInt(entries.length) * 70n);
});

test('the command compares what a gateway did, by the gateway itself while it runs', async (t) => {
  const dataDir = folderOf(t);
  const [provider, gateway] = await Promise.all([
    startFakeProvider(),
    startGateway({ GATEWAY_DATA_DIR: dataDir }),
  ]);
  t.teardown(() => provider.close());
  const client = limitsClient(gateway, provider);
  const keys = [
    await client.key({ usage_limits: { type: 'cost', credit_limit: 10 } }),
    await client.key({ usage_limits: { type: 'tokens', credit_limit: 10_000 } }),
  ];
  for (const { key } of keys)
    for (let i = 0; i < 5; i++)
      t.is((await client.chat({ 'x-gateway-trace-id': 'mine' }, {}, key)).status, 200);
  for (const { id } of keys)
    await client.keyUntil(id, ({ usage_limits: limit }) => (limit as Json).held_usage === 0);
  const lines: string[] = [];
  const settings = readSettings({ GATEWAY_DATA_DIR: dataDir, LOG_LEVEL: 'error' });
  const verify = (given: Json = {}) => verifyCommand(settings, given, (line) => lines.push(line));
  t.true(await verify());
  t.regex(lines.at(-1) ?? '', /^\d+ entries; 2 budgets: 2 equal, 0 corrected, 0 different/);
  await gateway.close();
  t.true(await verify(), 'over the stores, when it is stopped');
  t.regex(lines.at(-1) ?? '', /2 equal/);
});
