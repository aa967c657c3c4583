// Counts of calls, for Prometheus and for the bound on calls in flight.
import type { Reason } from '../lib/errors.ts';
import { byLabel, type Family, gauge } from '../telemetry/family.ts';
import { type FamilyValues, readFamilies } from '../telemetry/metrics-page.ts';
import { CallDurations } from './call-durations.ts';
import type { InFlight } from './in-flight.ts';
import type { CallCapacity } from './interceptors/capacity.ts';
import type { CallObserver } from './interceptors/log-entry.ts';

/** The observer of all calls, and what it saw. */
export interface Metrics extends CallCapacity, CallObserver {
  readonly inFlight: number;
  readonly families: readonly Family[];
  /** All families with their samples of now. */
  readonly read: () => Promise<FamilyValues[]>;
}

/** Errors that say that a limit was reached, and which. */
const LIMITS: Readonly<Partial<Record<Reason, string>>> = {
  rate_limited: 'rate',
  budget_exhausted: 'budget',
};

export function createMetrics(
  inFlight: InFlight,
  books: Pick<CallObserver, 'record' | 'complete'>,
  others: readonly Family[] = [],
): Metrics {
  const durations = new CallDurations();
  const errors = new Map<Reason, number>();
  const refused = (reason: Reason): void => void errors.set(reason, (errors.get(reason) ?? 0) + 1);
  const denied = (): (readonly [string, number])[] => {
    const counts = [...errors].map(([reason, value]) => [LIMITS[reason], value] as const);
    const told = counts.flatMap(([limit, value]) => (limit === undefined ? [] : [[limit, value] as const]));
    return inFlight.refused === 0 ? told : [...told, ['in_flight', inFlight.refused]];
  };
  const families = [
    durations.family(),
    byLabel('sluice_errors_total', 'Calls that ended with an error, by its reason', 'reason', () => errors),
    byLabel(
      'sluice_limit_denials_total',
      'Calls that a limit refused, by limit: rate, budget, in_flight',
      'limit',
      denied,
    ),
    gauge('sluice_calls_in_flight', 'Calls that have begun and not ended', 'sum', () => inFlight.begun),
    ...others,
  ];
  return {
    get inFlight() {
      return inFlight.begun;
    },
    begin() {
      if (inFlight.begin()) return true;
      refused('overloaded');
      return false;
    },
    families,
    leave: () => inFlight.leave(),
    end(operation, status, ms, reason) {
      durations.observe(operation, status, ms / 1000);
      if (reason !== undefined) refused(reason);
    },
    record: books.record,
    complete: books.complete,
    read: () => readFamilies(families),
  };
}
