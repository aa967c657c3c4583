// Counts of calls, for Prometheus and for the bound on calls in flight.
import type { Reason } from '../lib/errors.ts';
import { byLabel, type Family, gauge } from '../telemetry/family.ts';
import { type FamilyValues, readFamilies } from '../telemetry/metrics-page.ts';
import { CallDurations } from './call-durations.ts';
import type { CallObserver } from './interceptors/trace.ts';

/** The observer of all calls, and what it saw. */
export interface Metrics extends CallObserver {
  readonly inFlight: number;
  /** Whether another call would be one too many. */
  readonly full: () => boolean;
  /** All families with their samples of now. */
  readonly read: () => Promise<FamilyValues[]>;
}

/** Errors that say that a limit was reached, and which. */
const LIMITS: Readonly<Partial<Record<Reason, string>>> = {
  rate_limited: 'rate',
  budget_exhausted: 'budget',
};

export function createMetrics(
  maxInFlight: number | undefined,
  books: Pick<CallObserver, 'record' | 'complete'>,
  others: readonly Family[] = [],
): Metrics {
  const durations = new CallDurations();
  const errors = new Map<Reason, number>();
  let inFlight = 0;
  let overfull = 0;
  const most = maxInFlight ?? Number.POSITIVE_INFINITY;
  const refused = (reason: Reason): void => void errors.set(reason, (errors.get(reason) ?? 0) + 1);
  const denied = (): (readonly [string, number])[] => {
    const counts = [...errors].map(([reason, value]) => [LIMITS[reason], value] as const);
    const told = counts.flatMap(([limit, value]) => (limit === undefined ? [] : [[limit, value] as const]));
    return overfull === 0 ? told : [...told, ['in_flight', overfull]];
  };
  const families = [
    durations.family(),
    byLabel('sluice_errors_total', 'Calls that ended with an error, by its reason', 'reason', () => errors),
    byLabel('sluice_limit_denials_total', 'Calls that a limit refused, by its kind', 'limit', denied),
    gauge('sluice_calls_in_flight', 'Calls that have begun and not ended', 'sum', () => inFlight),
    ...others,
  ];
  return {
    get inFlight() {
      return inFlight;
    },
    full: () => inFlight >= most,
    begin() {
      if (inFlight >= most) {
        overfull++;
        refused('overloaded');
        return false;
      }
      inFlight++;
      return true;
    },
    end(operation, status, ms, reason) {
      inFlight--;
      durations.observe(operation, status, ms / 1000);
      if (reason !== undefined) refused(reason);
    },
    record: books.record,
    complete: books.complete,
    read: () => readFamilies(families),
  };
}
