// Since when a budget counts: usage that is reset periodically is another count in each period.

const DAY_MS = 86_400_000;

/** How a budget is reset. Times are Unix milliseconds. */
export interface Schedule {
  readonly reset: 'weekly' | 'monthly' | undefined;
  readonly days: number | undefined;
  /** The first reset that was worked out when the limit was set. */
  readonly next: number | undefined;
  /** Since when usage counts until then; undefined: from the beginning. */
  readonly began: number | undefined;
  /** When it was reset by hand. */
  readonly since: number | undefined;
}

/** The period that a time is in. */
export interface Period {
  /** The same in all instances, another after each reset. */
  readonly name: string;
  /** When it ends; undefined: never. */
  readonly end: number | undefined;
}

interface Known extends Period {
  readonly from: number;
}

const known = new WeakMap<Schedule, Known>();

/** The period that a time is in. Worked out once: calls of a limit ask for the same one. */
export function periodOf(schedule: Schedule, now: number): Period {
  const before = known.get(schedule);
  if (before !== undefined && now >= before.from && (before.end === undefined || now < before.end))
    return before;
  const { since = 0 } = schedule;
  const period = {
    name: `${since}.${periodStart(schedule, now)}`,
    from: now,
    end: resetAfter(schedule, now),
  };
  known.set(schedule, period);
  return period;
}

/** When usage was last reset, by its period or by hand; undefined: never. */
export function lastReset(schedule: Schedule, now: number): number | undefined {
  const { next, since = 0 } = schedule;
  const periodic = next === undefined || now < next ? 0 : periodStart(schedule, now);
  return Math.max(periodic, since) || undefined;
}

/** When usage starts again from zero; undefined: never. */
export function resetAfter(schedule: Schedule, now: number): number | undefined {
  const { reset, days, next } = schedule;
  if (next === undefined) return undefined;
  if (now < next) return next;
  if (days !== undefined) return periodStart(schedule, now) + days * DAY_MS;
  const start = new Date(calendarStart(reset, now));
  if (reset === 'weekly') return start.getTime() + 7 * DAY_MS;
  return Date.UTC(start.getUTCFullYear(), start.getUTCMonth() + 1, 1);
}

/** Since when the present period counts; 0: from the beginning. */
export function periodStart({ reset, days, next, began = 0 }: Schedule, now: number): number {
  if (next === undefined || now < next) return began;
  if (days !== undefined) return next + Math.floor((now - next) / (days * DAY_MS)) * days * DAY_MS;
  return Math.max(next, calendarStart(reset, now));
}

/** Monday, or the first of the month, at 00:00 UTC. */
function calendarStart(reset: 'weekly' | 'monthly' | undefined, now: number): number {
  const today = Math.floor(now / DAY_MS) * DAY_MS;
  const date = new Date(today);
  if (reset === 'weekly') return today - ((date.getUTCDay() + 6) % 7) * DAY_MS;
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1);
}
