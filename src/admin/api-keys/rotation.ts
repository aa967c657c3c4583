// When keys are due for a new secret (admin-api facts, part 7.1).
import { create } from '@bufbuild/protobuf';
import {
  RotationPeriod,
  type RotationPolicy,
  type RotationSchedule,
  RotationScheduleSchema,
} from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import type { KeyRotation } from '../../access/identity-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import { midnight, nextResetOf } from '../kit/limits.ts';
import { defined } from '../kit/patch.ts';
import { readTime, timeText } from '../kit/time.ts';

const DAY_MS = 86_400_000;

/** How long the previous secret works after a rotation, at least and by default: half an hour. */
export const LEAST_TRANSITION_MS = 1_800_000;

/** The shortest month. */
const PERIOD_DAYS = { weekly: 7, monthly: 28 } as const;
const PERIODS = { [RotationPeriod.WEEKLY]: 'weekly', [RotationPeriod.MONTHLY]: 'monthly' } as const;

/** A policy with its next time worked out. @throws GatewayError validation_failed. */
export function rotationOf(policy: RotationPolicy, at: number): KeyRotation {
  const { rotationPeriod, rotationPeriodDays, nextRotationAt } = policy;
  const period = rotationPeriod === undefined ? undefined : PERIODS[rotationPeriod as keyof typeof PERIODS];
  const transitionMs = Number(policy.keyTransitionPeriodMs ?? LEAST_TRANSITION_MS);
  const length = rotationPeriodDays ?? (period && PERIOD_DAYS[period]);
  if (length !== undefined && transitionMs >= length * DAY_MS)
    throw invalidField('rotation_policy.key_transition_period_ms', 'must be less than the period');
  const asked =
    nextRotationAt === undefined
      ? undefined
      : midnight(readTime('rotation_policy.next_rotation_at', nextRotationAt));
  if (asked !== undefined && asked <= at)
    throw invalidField('rotation_policy.next_rotation_at', 'must be on a day to come');
  const rotation = defined<KeyRotation>({
    period,
    periodDays: rotationPeriodDays,
    nextAt: asked,
    transitionMs,
  });
  return asked === undefined ? afterRotation(rotation, at) : rotation;
}

/** The policy after a rotation at `from`. */
export function afterRotation(rotation: KeyRotation, from: number): KeyRotation {
  const { period, periodDays } = rotation;
  return defined<KeyRotation>({ ...rotation, nextAt: nextResetOf(period, periodDays, from) });
}

/** The policy as callers are shown it. */
export function rotationSchedule(rotation: KeyRotation, now: number): RotationSchedule {
  const { period, periodDays, nextAt, transitionMs } = rotation;
  return create(RotationScheduleSchema, {
    ...(period === undefined
      ? {}
      : { rotationPeriod: period === 'weekly' ? RotationPeriod.WEEKLY : RotationPeriod.MONTHLY }),
    ...(periodDays === undefined ? {} : { rotationPeriodDays: periodDays }),
    ...(nextAt === undefined ? {} : { nextRotationAt: timeText(nextAt) }),
    keyTransitionPeriodMs: BigInt(transitionMs),
    status: 'ACTIVE',
    rotationDue: nextAt !== undefined && nextAt <= now,
  });
}
