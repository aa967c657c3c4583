// What the gateway's metrics say of its rooms, beside what they say of calls.
import type { CircuitCounts } from '../inference/route/watched-circuits.ts';
import type { OpenLimits } from '../ledger/limits/open.ts';
import type { GaugeSource } from '../rpc/metrics.ts';
import type { CallBooks } from './call-books.ts';
import { journalGauges } from './journal-gauges.ts';

/** @param rooms those that are built later are asked when they are there */
export function gauges(rooms: {
  readonly books: CallBooks;
  readonly auditLost: () => number;
  readonly limits: () => OpenLimits;
  readonly circuits: () => CircuitCounts;
}): GaugeSource[] {
  const { requestLog, bodyLog, flights } = rooms.books;
  return [
    {
      name: 'sluice_request_log_buffered',
      help: 'Log entries not stored yet',
      read: () => requestLog.stats().buffered,
    },
    {
      name: 'sluice_request_log_lag_seconds',
      help: 'How long the oldest log entry that is not stored yet has waited',
      read: () => requestLog.lagMs() / 1000,
    },
    {
      name: 'sluice_log_bodies_dropped_total',
      help: 'Calls whose bodies were not kept',
      type: 'counter',
      read: () => bodyLog.dropped(),
    },
    {
      name: 'sluice_request_log_dropped_total',
      help: 'Log entries dropped',
      type: 'counter',
      read: () => requestLog.stats().failed + (flights?.lost ?? 0),
    },
    ...journalGauges(requestLog, flights, () => rooms.limits().waiting()),
    {
      name: 'sluice_holds',
      help: 'Calls in flight that hold budgets or tokens',
      read: () => rooms.limits().holds.size(),
    },
    {
      name: 'sluice_audit_lost_total',
      help: 'Audit entries that could not be written',
      type: 'counter',
      read: rooms.auditLost,
    },
    {
      name: 'sluice_circuit_refusals_total',
      help: 'Calls of targets that a circuit breaker kept back',
      type: 'counter',
      read: () => rooms.circuits().refused(),
    },
    {
      name: 'sluice_circuits_open',
      help: 'Circuit breakers that keep calls back, as far as this process knows',
      read: () => rooms.circuits().open(),
    },
  ];
}
