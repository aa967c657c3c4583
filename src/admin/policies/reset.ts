// When the usage of a usage-limit policy starts again from zero.
import { periodStart } from '../../ledger/limits/period.ts';
import { scheduleOfPolicy, type UsageLimitPolicyBody } from '../../ledger/policies.ts';
import { invalidField } from '../../lib/errors.ts';
import { midnight, nextResetOf } from '../kit/limits.ts';
import type { Patch } from '../kit/patch.ts';
import { readTime } from '../kit/time.ts';

type Reset = Pick<UsageLimitPolicyBody, 'periodicReset' | 'periodicResetDays' | 'nextUsageResetAt'>;

/** The reset as requests carry it. */
interface Given {
  readonly periodicReset?: string | undefined;
  readonly periodicResetDays?: number | undefined;
  readonly nextUsageResetAt?: string | undefined;
}

type Kept = {
  [K in 'periodicReset' | 'periodicResetDays' | 'nextUsageResetAt']: UsageLimitPolicyBody[K] | undefined;
};

/** A new policy's reset. @throws GatewayError validation_failed naming the field. */
export function resetOf(given: Given, now: number): Kept {
  const { periodicResetDays, nextUsageResetAt } = given;
  const periodicReset = given.periodicReset as Reset['periodicReset'];
  if (periodicReset !== undefined && periodicResetDays !== undefined)
    throw invalidField('periodic_reset_days', 'must not be given together with periodic_reset');
  const periodic = periodicReset !== undefined || periodicResetDays !== undefined;
  if (nextUsageResetAt === undefined) {
    const next = periodic ? nextResetOf(periodicReset, periodicResetDays, now) : undefined;
    return { periodicReset, periodicResetDays, nextUsageResetAt: next };
  }
  if (!periodic) throw invalidField('next_usage_reset_at', 'needs periodic_reset or periodic_reset_days');
  const next = midnight(readTime('next_usage_reset_at', nextUsageResetAt));
  if (next <= now) throw invalidField('next_usage_reset_at', 'must be a day in the future');
  return { periodicReset, periodicResetDays, nextUsageResetAt: next };
}

/** The reset after an update: one way of resetting takes the place of the other. @throws GatewayError as `resetOf`. */
export function changedReset(was: Reset, given: Given, fields: Patch, now: number): Kept {
  const untouched =
    given.periodicReset === undefined &&
    given.periodicResetDays === undefined &&
    given.nextUsageResetAt === undefined &&
    !['periodic_reset', 'periodic_reset_days', 'next_usage_reset_at'].some((name) => fields.cleared(name));
  if (untouched)
    return {
      periodicReset: was.periodicReset,
      periodicResetDays: was.periodicResetDays,
      nextUsageResetAt: was.nextUsageResetAt,
    };
  const byDays = given.periodicResetDays !== undefined;
  const byName = given.periodicReset !== undefined;
  return resetOf(
    {
      periodicReset:
        byDays && !byName
          ? undefined
          : fields.optional('periodic_reset', given.periodicReset, was.periodicReset),
      periodicResetDays:
        byName && !byDays
          ? undefined
          : fields.optional('periodic_reset_days', given.periodicResetDays, was.periodicResetDays),
      nextUsageResetAt: given.nextUsageResetAt,
    },
    now,
  );
}

/** Start of the count after an update: the present period continues, however the next reset is computed. */
export function countedSince(was: UsageLimitPolicyBody, now: number): number | undefined {
  return periodStart(scheduleOfPolicy(was), now) || undefined;
}

/** @throws GatewayError validation_failed for amounts that do not fit the type or each other. */
export function checkAmounts({ type, creditLimit, alertThreshold }: UsageLimitPolicyBody): void {
  const least = type === 'tokens' ? 100 : 1;
  if (creditLimit < least) throw invalidField('credit_limit', `must be at least ${least} for ${type}`);
  if (type !== 'cost' && !Number.isInteger(creditLimit))
    throw invalidField('credit_limit', `must be a whole number for ${type}`);
  if (alertThreshold !== undefined && alertThreshold >= creditLimit)
    throw invalidField('alert_threshold', 'must be less than credit_limit');
}
