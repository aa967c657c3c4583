// When keys are due for a new secret: the calendar (admin-api facts, part 7.1), at fixed times.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { RotationPolicySchema, RotationScheduleSchema } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { afterRotation, rotationOf, rotationSchedule } from '../../src/admin/api-keys/rotation.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { codec } from '../../src/rest/codec.ts';
import type { JsonObject } from '../../src/store/collection.ts';

const ms = (text: string): number => Date.parse(text);
/** A Thursday. */
const NOW = ms('2026-01-29T15:00:00Z');
const rotation = (policy: JsonObject, at = NOW) => rotationOf(codec.decode(RotationPolicySchema, policy), at);

for (const [name, policy, first, second] of [
  ['weekly: on Mondays', { rotation_period: 'weekly' }, '2026-02-02', '2026-02-09'],
  ['monthly: on the first', { rotation_period: 'monthly' }, '2026-02-01', '2026-03-01'],
  ['in days', { rotation_period_days: 3 }, '2026-02-01', '2026-02-04'],
  [
    'an explicit time counts once',
    { rotation_period: 'weekly', next_rotation_at: '2026-03-05T10:00:00Z' },
    '2026-03-05',
    '2026-03-09',
  ],
  ['an explicit time alone', { next_rotation_at: '2026-03-05T23:00:00-02:00' }, '2026-03-06', undefined],
] as const) {
  test(name, (t) => {
    const planned = rotation(policy);
    t.is(planned.nextAt, ms(`${first}T00:00:00Z`));
    t.is(planned.transitionMs, 1_800_000);
    const next = afterRotation(planned, ms(`${first}T08:00:00Z`));
    t.is(next.nextAt, second && ms(`${second}T00:00:00Z`));
  });
}

test('a key is due once its time has come, and until it is rotated', (t) => {
  const planned = rotation({ rotation_period: 'weekly', key_transition_period_ms: 3_600_000 });
  const shown = (at: number, of = planned) =>
    codec.encode(RotationScheduleSchema, create(RotationScheduleSchema, rotationSchedule(of, at)));
  const due = ms('2026-02-02T00:00:00Z');
  t.deepEqual(shown(due - 1), {
    rotation_period: 'weekly',
    next_rotation_at: '2026-02-02T00:00:00.000Z',
    key_transition_period_ms: 3_600_000,
    status: 'ACTIVE',
    rotation_due: false,
  });
  t.like(shown(due), { rotation_due: true, next_rotation_at: '2026-02-02T00:00:00.000Z' });
  t.like(shown(due + 1, afterRotation(planned, due + 1)), {
    rotation_due: false,
    next_rotation_at: '2026-02-09T00:00:00.000Z',
  });
  t.like(shown(due, afterRotation(rotation({ next_rotation_at: '2026-02-02T00:00:00Z' }), due)), {
    rotation_due: false,
    next_rotation_at: null,
  });
});

for (const [name, policy, field] of [
  ['today', { next_rotation_at: '2026-01-29T23:00:00Z' }, 'next_rotation_at'],
  ['no time', { next_rotation_at: 'soon' }, 'next_rotation_at'],
  [
    'a transition of a month',
    { rotation_period: 'monthly', key_transition_period_ms: 28 * 86_400_000 },
    'key_transition_period_ms',
  ],
  [
    'a transition of a day',
    { rotation_period_days: 1, key_transition_period_ms: 86_400_000 },
    'key_transition_period_ms',
  ],
] as const) {
  test(`refused: ${name}`, (t) => {
    const error = t.throws(() => rotation(policy), { instanceOf: GatewayError });
    t.is(error?.reason, 'validation_failed');
    t.is(error?.details.param, `rotation_policy.${field}`);
  });
}
