// What of the books is on its way to the log store, for the metrics.
import type { Flights } from '../ledger/flight/flights.ts';
import type { JournalStats } from '../ledger/journal.ts';
import type { RequestLog } from '../ledger/request-log.ts';
import type { GaugeSource } from '../rpc/metrics.ts';

/** @param waiting entries of calls under limits, in the shared state */
export function journalGauges(
  log: Pick<RequestLog, 'stats' | 'lagMs'>,
  flights: Pick<Flights, 'bytes' | 'spilled'> | undefined,
  waiting: () => JournalStats,
): GaugeSource[] {
  return [
    {
      name: 'sluice_journal_entries',
      help: 'Entries that the log store has not taken yet: in memory, in files and in the shared state',
      read: () => log.stats().buffered + (flights?.spilled ?? 0) + waiting().entries,
    },
    {
      name: 'sluice_journal_lag_seconds',
      help: 'Age of the oldest entry that the log store has not taken yet',
      read: () => Math.max(log.lagMs(), waiting().lagMs) / 1000,
    },
    {
      name: 'sluice_journal_file_bytes',
      help: 'Files of calls in flight and of entries that the log store has not taken yet',
      read: () => flights?.bytes ?? 0,
    },
  ];
}
