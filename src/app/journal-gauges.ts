// What of the books is on its way to the log store, for the metrics.
import type { InFlightJournal } from '../ledger/flight/in-flight-journal.ts';
import type { JournalStats } from '../ledger/journal.ts';
import type { RequestLog } from '../ledger/request-log.ts';
import { type Family, gauge } from '../telemetry/family.ts';

/** @param waiting entries of calls under limits, in the shared state */
export function journalGauges(
  log: Pick<RequestLog, 'stats' | 'lagMs'>,
  flights: Pick<InFlightJournal, 'bytes' | 'spilled'> | undefined,
  waiting: () => JournalStats,
): Family[] {
  return [
    gauge(
      'sluice_journal_entries',
      'Entries that the log store has not taken yet: in memory, in files and in the shared state',
      'sum',
      () => log.stats().buffered + (flights?.spilled ?? 0) + waiting().entries,
    ),
    gauge(
      'sluice_journal_lag_seconds',
      'Age of the oldest entry that the log store has not taken yet',
      'max',
      () => Math.max(log.lagMs(), waiting().lagMs) / 1000,
    ),
    gauge(
      'sluice_journal_file_bytes',
      'Files of calls in flight and of entries that the log store has not taken yet',
      'sum',
      () => flights?.bytes ?? 0,
    ),
  ];
}
