// Limits as rules: counters that keep apart what is counted apart, periods that never come back, bounds that hold.
import test from 'ava';
import { estimateOf } from '../../src/ledger/limits/estimate.ts';
import { keptLimit } from '../../src/ledger/limits/kept-limit.ts';
import { periodOf, periodStart, type Schedule } from '../../src/ledger/limits/period.ts';

import { PolicySet } from '../../src/ledger/limits/policy-set.ts';
import { budgetRule, capOf, rateRules } from '../../src/ledger/limits/rule.ts';
import { rulesOf } from '../../src/ledger/limits/rules-of.ts';

const nameAt = (schedule: Schedule, now: number): string => periodOf(schedule, now).name;

const DAY = 86_400_000;
const MAY = Date.UTC(2026, 4, 1);
const JUNE = Date.UTC(2026, 5, 1);
const JULY = Date.UTC(2026, 6, 1);

test('limits of one type over several spans have counters of their own', (t) => {
  const rules = rateRules(
    [
      { type: 'requests', unit: 'rpm', value: 10 },
      { type: 'requests', unit: 'rph', value: 100 },
      { type: 'tokens', unit: 'rpm', value: 100 },
    ],
    'key:k',
    'the API key',
  );
  t.is(new Set(rules.map(({ id }) => id)).size, 3);
});

test('budgets of one type that a token brings have counters of their own', (t) => {
  const usageLimits = [
    { type: 'cost', credit_limit: 10, periodic_reset: 'weekly' },
    { type: 'cost', credit_limit: 30, periodic_reset: 'monthly' },
  ];
  const rules = rulesOf(() => undefined as never, 'o', new PolicySet(), [
    { id: 'token:t', name: 'the token', carried: { usageLimits } },
  ]);
  t.is(new Set(rules.map(({ id }) => id)).size, 2);
});

test('a reset by hand counts anew also when the limit itself is the same object', (t) => {
  const usageLimits = { type: 'cost', credit_limit: 10 };
  const since = (usageResetAt: number | undefined) =>
    rulesOf(() => undefined as never, 'o', new PolicySet(), [
      { id: 'key:k', name: 'k', carried: { usageLimits, usageResetAt } },
    ]).map((rule) => rule.kind === 'budget' && rule.schedule.since);
  t.deepEqual(since(undefined), [undefined]);
  t.deepEqual(since(5), [5]);
});

test('caps and estimates beyond what can be counted are the most that can be', (t) => {
  t.is(capOf('cost', 1e12), 10n ** 21n);
  t.is(capOf('tokens', 1e12), 10n ** 12n);
  const { input, output } = estimateOf(8, { maxTokens: 9_223_372_036_854_775_807n, n: 128 }, true);
  t.is(input, 2);
  t.is(output, 1_000_000_000);
  t.is(estimateOf(8, { maxTokens: -4n }, true).output, 0);
});

test('a period has one name until it is over, whatever is changed meanwhile, and never comes back', (t) => {
  const limit = keptLimit(
    { type: 'cost', credit_limit: 10, periodic_reset: 'monthly' },
    JUNE,
    undefined,
    MAY + DAY,
  );
  const schedule = (json: object): Schedule => budgetRule(json as never, 'key:k', 'k', undefined).schedule;
  const inMay = nameAt(schedule(limit), MAY + 10 * DAY);
  const inJune = nameAt(schedule(limit), JUNE + 3 * DAY);
  t.not(inMay, inJune);
  // Raised in June: the next reset is worked out anew, and June goes on.
  const raised = keptLimit(
    { type: 'cost', credit_limit: 20, periodic_reset: 'monthly' },
    JULY,
    limit,
    JUNE + 3 * DAY,
  );
  t.is(nameAt(schedule(raised), JUNE + 4 * DAY), inJune);
  t.is(periodStart(schedule(raised), JUNE + 4 * DAY), JUNE);
  t.not(nameAt(schedule(raised), JULY), inJune);
  // Another type counts anew, also when it comes back to the first.
  const tokens = keptLimit({ type: 'tokens', credit_limit: 100 }, undefined, raised, JUNE + 5 * DAY);
  const back = keptLimit({ type: 'cost', credit_limit: 20 }, undefined, tokens, JUNE + 6 * DAY);
  t.false([inMay, inJune].includes(nameAt(schedule(back), JUNE + 7 * DAY)));
  // Taken away and set again: a new count.
  const again = keptLimit({ type: 'cost', credit_limit: 20 }, undefined, undefined, JUNE + 8 * DAY);
  t.false([inMay, inJune].includes(nameAt(schedule(again), JUNE + 9 * DAY)));
});
