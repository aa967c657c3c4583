// The gauges of the gateway's rooms, in addition to the metrics of calls.
import type { CircuitCounts } from '../inference/route/watched-circuits.ts';
import type { OpenLimits } from '../ledger/limits/open-limits.ts';
import { counter, type Family, gauge } from '../telemetry/family.ts';
import type { CallBooks } from './call-books.ts';
import { journalGauges } from './journal-gauges.ts';

export function gauges(rooms: {
  readonly books: CallBooks;
  readonly auditLost: () => number;
  readonly limits: Pick<OpenLimits, 'waiting' | 'holds'>;
  readonly circuits: CircuitCounts;
}): Family[] {
  const { requestLog, bodyLog, flights } = rooms.books;
  return [
    gauge(
      'sluice_request_log_buffered',
      'Log entries not stored yet',
      'sum',
      () => requestLog.stats().buffered,
    ),
    gauge(
      'sluice_request_log_lag_seconds',
      'How long the oldest log entry that is not stored yet has waited',
      'max',
      () => requestLog.lagMs() / 1000,
    ),
    counter('sluice_log_bodies_dropped_total', 'Calls whose bodies were not kept', () => bodyLog.dropped()),
    counter(
      'sluice_request_log_dropped_total',
      'Log entries dropped',
      () => requestLog.stats().failed + (flights?.lost ?? 0),
    ),
    ...journalGauges(requestLog, flights, () => rooms.limits.waiting()),
    gauge('sluice_holds', 'Calls in flight that hold budgets or tokens', 'sum', () =>
      rooms.limits.holds.size(),
    ),
    counter('sluice_audit_lost_total', 'Audit entries that could not be written', rooms.auditLost),
    counter('sluice_circuit_refusals_total', 'Calls of targets that a circuit breaker kept back', () =>
      rooms.circuits.refused(),
    ),
    gauge(
      'sluice_circuits_open',
      'Circuit breakers that keep calls back, as far as this process knows',
      'max',
      () => rooms.circuits.open(),
    ),
  ];
}
