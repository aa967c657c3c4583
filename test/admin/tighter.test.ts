// What counts as tighter, one field at a time.
import test from 'ava';
import * as tighter from '../../src/admin/kit/tighter.ts';

const DAY = 86_400_000;
const at = Date.UTC(2030, 0, 10);
const day = (days: number) => new Date(at + days * DAY).toISOString();

test('a usage limit is as tight with no more credit, the same period and no earlier reset', (t) => {
  const set = { type: 'cost', credit_limit: 10, periodic_reset_days: 7, next_usage_reset_at: day(5) };
  const isTight = (change: object) => tighter.usageLimits({ ...set, ...change }, set, at);
  t.true(isTight({}));
  t.true(isTight({ credit_limit: 9, next_usage_reset_at: day(6) }));
  t.false(isTight({ credit_limit: 10.5 }));
  t.false(isTight({ next_usage_reset_at: day(4) }), 'usage starts again sooner');
  t.false(isTight({ periodic_reset_days: 1 }));
  t.false(isTight({ type: 'tokens' }));
  t.false(tighter.usageLimits(undefined, set, at));
  // The reset that was set rolls on with its period.
  t.false(tighter.usageLimits({ ...set, next_usage_reset_at: day(8) }, set, at + 6 * DAY));
  t.true(tighter.usageLimits({ ...set, next_usage_reset_at: day(12) }, set, at + 6 * DAY));
});

test('an alert that was set comes no later', (t) => {
  const set = { type: 'cost', credit_limit: 10, alert_threshold: 5 };
  t.true(tighter.usageLimits({ ...set, alert_threshold: 4 }, set, at));
  t.false(tighter.usageLimits({ ...set, alert_threshold: 6 }, set, at));
  t.false(tighter.usageLimits({ type: 'cost', credit_limit: 10 }, set, at));
});

test('rate limits, lists and objects', (t) => {
  const set = [{ type: 'requests', unit: 'rpm', value: 5 }];
  t.true(tighter.rateLimits([{ type: 'requests', unit: 'rpm', value: 0 }], set, at));
  t.false(tighter.rateLimits([{ type: 'requests', unit: 'rph', value: 5 }], set, at));
  t.false(tighter.rateLimits([], set, at));
  t.true(tighter.everyOne(['b', 'a'], ['a'], at));
  t.false(tighter.everyOne(['b'], ['a'], at));
  t.true(tighter.everyMember({ a: 'x', b: 'y' }, { a: 'x' }, at));
  t.false(tighter.everyMember({ a: 'z' }, { a: 'x' }, at));
  t.false(tighter.everyMember(undefined, { a: 'x' }, at));
});
