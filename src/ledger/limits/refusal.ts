// What a call is told that a limit refuses: which limit, and when to come again.
import { fail, type GatewayError, type RateState } from '../../lib/errors.ts';
import type { LimitState } from '../../store/shared-state.ts';
import type { Counted } from './limit-of.ts';
import { resetAfter } from './period.ts';
import type { BudgetRule, RateRule, SlotRule } from './rule.ts';

type Denied = Pick<LimitState, 'denied' | 'retryAfterMs'>;

const SPANS: Readonly<Record<string, string>> = {
  rps: 'per second',
  rpm: 'per minute',
  rph: 'per hour',
  rpd: 'per day',
  rpw: 'per week',
};

/** Milliseconds until a retry while too many calls are in flight: the time when one of them ends is unknown. */
const SLOT_WAIT_MS = 1000;

/**
 * The refusal of limits that deny, in the order of `counted`: rate_limited with the time to wait, or
 * budget_exhausted. @param now Unix milliseconds @param rates of all that apply, told in the answer's headers
 */
export function refusalOf(
  limits: readonly Denied[],
  counted: readonly Counted[],
  now: number,
  rates: readonly RateState[] = [],
): GatewayError {
  const denied = counted.filter((_, i) => limits[i]?.denied);
  // A budget that is spent is told before a rate that passes by itself.
  const budget = denied.find(({ rule }) => rule.kind === 'budget')?.rule;
  if (budget?.kind === 'budget') return exhausted(budget, now, rates);
  const waits = counted.flatMap(({ rule }, i) => {
    const state = limits[i];
    if (!state?.denied) return [];
    return [state.retryAfterMs ?? (rule.kind === 'slots' && rule.limit > 0 ? SLOT_WAIT_MS : undefined)];
  });
  const known = waits.filter((wait) => wait !== undefined);
  const retryAfterMs = known.length === waits.length ? Math.max(...known) : undefined;
  const { rule } = denied[0] as Counted;
  const message = rule.kind === 'slots' ? slotText(rule) : rateText(rule as RateRule, retryAfterMs);
  return fail('rate_limited', message, { rates, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
}

/** That a limit cannot be asked, and lets nothing through then. */
export function unaskable({ name }: { readonly name: string }, cause?: unknown): GatewayError {
  return fail('store_unavailable', `${name} cannot be asked: the shared store does not answer`, {
    retryAfterMs: 1000,
    ...(cause === undefined ? {} : { cause }),
  });
}

function exhausted(
  { name, type, schedule }: BudgetRule,
  now: number,
  rates: readonly RateState[],
): GatewayError {
  const reset = resetAfter(schedule, now);
  const until = reset === undefined ? '' : `, until ${new Date(reset).toISOString()}`;
  return fail('budget_exhausted', `${name} (${type}) is exhausted${until}`, { rates });
}

function slotText({ name, limit }: SlotRule): string {
  const text = `${name} of ${limit} calls in flight`;
  return limit === 0 ? `${text} lets no call through` : `${text} is reached`;
}

function rateText({ name, limit, type, unit }: RateRule, retryAfterMs: number | undefined): string {
  const text = `${name} of ${limit} ${type} ${SPANS[unit] ?? unit}`;
  if (retryAfterMs !== undefined) return `${text} is reached`;
  return type === 'requests'
    ? `${text} lets no call through`
    : `${text} lets no call through that may use so many: lower its max_tokens`;
}
