// Budgets that callers' metadata divide, beyond the number that is counted apart: admission, settlement, readings, resets.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import { budgetNamed } from '../../src/ledger/charged-budgets.ts';
import { Admission, type Ticket } from '../../src/ledger/limits/admission.ts';
import { interruptedEntry } from '../../src/ledger/limits/hold-note.ts';
import { RetryQueue } from '../../src/ledger/limits/retry-queue.ts';
import type { BudgetRule } from '../../src/ledger/limits/rule.ts';
import { UsageReader } from '../../src/ledger/limits/usage.ts';
import { OwnEntries } from '../../src/ledger/own-entries.ts';
import { openPriceList } from '../../src/ledger/prices/price-list.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { freshOrg, openEmbedded, START_MS } from '../store/shared-stores.ts';

const clock = { ms: START_MS };
const state = await openEmbedded(clock);
const onTrouble = (): void => {};
const later = new RetryQueue({ everyMs: 100, most: 1000, onTrouble });
const now = (): number => clock.ms;
const admission = new Admission({
  state,
  prices: openPriceList([]),
  owner: randomUUID(),
  leaseMs: 60_000,
  later,
  journal: { mark: () => {}, own: new OwnEntries('a') },
  now,
  onTrouble,
});
test.after.always(async () => {
  later.stop();
  await state.close();
});

const rule = (group: string): BudgetRule => ({
  kind: 'budget',
  id: `p:1:${group}`,
  name: 'the policy "teams"',
  type: 'tokens',
  cap: 100n,
  schedule: { reset: undefined, days: undefined, next: undefined, began: undefined, since: undefined },
  pool: { id: 'p:1', most: 2, others: 'p:1:others' },
  onOutage: 'deny',
});

async function begin(organisationId: string, group: string, tokens: number): Promise<Ticket> {
  return admission.admit({
    id: randomUUID(),
    organisationId,
    rules: [rule(group)],
    estimate: { input: tokens, output: 0 },
    model: undefined,
    provider: undefined,
    call: undefined,
  });
}

async function end(ticket: Ticket, totalTokens: number): Promise<void> {
  const used = { promptTokens: totalTokens, totalTokens };
  const attempt = { provider: 'p', host: 'h', model: 'm', statusCode: 200, outcome: 'success' as const };
  await admission.settle(ticket, {
    attempts: [{ ...attempt, id: ticket.id, startedAt: now(), latencyMs: 1, usage: used }],
    failed: false,
    entry: undefined,
    done: () => {},
    unwritten: () => {},
  });
}

test('a call of a group beyond the bound is charged to the budget of all others, and says so', async (t) => {
  const org = freshOrg();
  for (const group of ['a', 'b']) await end(await begin(org, group, 10), 7);
  const ticket = await begin(org, 'c', 10);
  const [counted] = ticket.rules;
  t.like(counted?.rule, { id: 'p:1:others', name: 'the policy "teams", its groups beyond 2' });
  await end(ticket, 60);
  await end(await begin(org, 'd', 10), 35);
  const refused = await t.throwsAsync(begin(org, 'e', 10));
  t.true(refused instanceof GatewayError && refused.reason === 'budget_exhausted');
  t.regex(refused?.message ?? '', /its groups beyond 2/);
  await end(await begin(org, 'a', 10), 10);
  const usage = new UsageReader({ state, now, onTrouble });
  t.like(await usage.read(org, rule('a')), { current: 17 });
  for (const group of ['c', 'd', 'never seen']) t.like(await usage.read(org, rule(group)), { current: 95 });
});

test('a reset of a group sets its own budget to zero; of one that is counted with others it is refused', async (t) => {
  const org = freshOrg();
  for (const group of ['a', 'b', 'c']) await end(await begin(org, group, 10), 7);
  const usage = new UsageReader({ state, now, onTrouble });
  await usage.reset(org, rule('a'));
  t.like(await usage.read(org, rule('a')), { current: 0 });
  const error = await t.throwsAsync(usage.reset(org, rule('c')));
  t.is((error as GatewayError).reason, 'conflict');
  t.like(await usage.read(org, rule('c')), { current: 7 });
});

test('the entry of a call that was killed names the budget that it is charged to', (t) => {
  const call = { id: 'x', createdAt: 1, metadata: {} };
  const note = JSON.stringify({
    call,
    estimate: { input: 1, output: 1 },
    budgets: ['p:1:c:always', 'tokens|p:2:c:always'],
  });
  const held = [{ key: 'p:1:c:always' }, { key: 'p:2:others:always' }];
  const entry = interruptedEntry('org', note, 5, held);
  t.deepEqual(entry?.budgets, ['p:1:c:always', 'tokens|p:2:others:always']);
  t.deepEqual(budgetNamed(entry?.budgets?.[1] ?? ''), { key: 'p:2:others:always', type: 'tokens' });
});
