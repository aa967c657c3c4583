// Budgets and rates in a token (admin-api facts, parts 3.7, 4.1 and 4.2). A token whose limits cannot
// be read is refused: without them it would be worth more than its issuer meant.
import type { TokenLimit } from '../../call/grant.ts';
import { refused } from './refused.ts';

const MOST_LIMITS = 10;
const LARGEST = 1e12;
const RATE_UNITS = ['rps', 'rpm', 'rph', 'rpd', 'rpw', 'concurrent'];
const ON_STORE_OUTAGE = ['deny', 'allow', 'local'];
const RESETS = ['weekly', 'monthly'];

type Members = Readonly<Record<string, unknown>>;

/** Budgets as they are stored elsewhere: {id?, type, credit_limit, alert_threshold?, periodic_reset?, …}. @throws GatewayError unauthenticated. */
export function readUsageLimits(value: unknown): readonly TokenLimit[] | undefined {
  return readEach('usage_limits', value, (limit, at) => {
    const { id, type, credit_limit: credit, alert_threshold: alert } = limit;
    const { periodic_reset: reset, periodic_reset_days: days, next_usage_reset_at: next } = limit;
    if (type !== 'cost' && type !== 'tokens') throw wrong(`${at}.type`, 'must be cost or tokens');
    if (!isAmount(credit) || credit === 0) throw wrong(`${at}.credit_limit`, 'must be a number above 0');
    if (isGiven(alert) && !(isAmount(alert) && alert < credit))
      throw wrong(`${at}.alert_threshold`, 'must be a number below credit_limit');
    if (isGiven(reset) && !RESETS.includes(reset as string))
      throw wrong(`${at}.periodic_reset`, 'must be weekly or monthly');
    if (isGiven(days) && !(Number.isInteger(days) && (days as number) >= 1 && (days as number) <= 365))
      throw wrong(`${at}.periodic_reset_days`, 'must be 1 to 365');
    if (isGiven(reset) && isGiven(days))
      throw wrong(`${at}.periodic_reset_days`, 'must not be given together with periodic_reset');
    if (isGiven(next) && !(typeof next === 'string' && next.length <= 40 && !Number.isNaN(Date.parse(next))))
      throw wrong(`${at}.next_usage_reset_at`, 'must be a time in ISO 8601');
    if (isGiven(id) && !(typeof id === 'string' && id.length <= 256))
      throw wrong(`${at}.id`, 'must be a text of at most 256 characters');
    const kept = { id, type, credit_limit: credit, alert_threshold: alert, periodic_reset: reset };
    const outage = readOutage(limit, at);
    return given({ ...kept, periodic_reset_days: days, next_usage_reset_at: next, on_store_outage: outage });
  });
}

/** Rates: {type, unit, value, on_store_outage?}. @throws GatewayError unauthenticated. */
export function readRateLimits(value: unknown): readonly TokenLimit[] | undefined {
  const seen = new Set<string>();
  return readEach('rate_limits', value, (limit, at) => {
    const { type, unit, value: rate } = limit;
    if (type !== 'requests' && type !== 'tokens') throw wrong(`${at}.type`, 'must be requests or tokens');
    if (!RATE_UNITS.includes(unit as string))
      throw wrong(`${at}.unit`, `must be one of ${RATE_UNITS.join(', ')}`);
    if (unit === 'concurrent' && type !== 'requests')
      throw wrong(`${at}.unit`, 'must not be concurrent for tokens');
    if (!isAmount(rate) || !Number.isInteger(rate))
      throw wrong(`${at}.value`, 'must be a whole number from 0');
    if (seen.has(`${type} ${unit}`)) throw wrong(at, 'repeats the type and unit of another one');
    seen.add(`${type} ${unit}`);
    return given({ type, unit, value: rate, on_store_outage: readOutage(limit, at) });
  });
}

function readOutage({ on_store_outage: outage }: Members, at: string): unknown {
  if (isGiven(outage) && !ON_STORE_OUTAGE.includes(outage as string))
    throw wrong(`${at}.on_store_outage`, `must be one of ${ON_STORE_OUTAGE.join(', ')}`);
  return outage;
}

function readEach(
  claim: string,
  value: unknown,
  read: (limit: Members, at: string) => TokenLimit,
): readonly TokenLimit[] | undefined {
  if (!isGiven(value)) return undefined;
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (list.length > MOST_LIMITS) throw wrong(claim, `must hold at most ${MOST_LIMITS} limits`);
  if (list.length === 0) return undefined;
  return list.map((limit, i) => {
    if (typeof limit !== 'object' || limit === null || Array.isArray(limit))
      throw wrong(`${claim}[${i}]`, 'must be an object');
    return read(limit as Members, `${claim}[${i}]`);
  });
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= LARGEST;
}

function isGiven(value: unknown): boolean {
  return value !== undefined && value !== null;
}

function given(members: Members): TokenLimit {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => isGiven(value))) as TokenLimit;
}

function wrong(at: string, message: string) {
  return refused(`the token's ${at} ${message}`);
}
