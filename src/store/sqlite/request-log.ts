// The books of requests over the workers: entries arrive by the writer; what reads and what keeps them in shape has
// workers of its own, so that neither a page of documents nor a call waits for it.
import type { LogStore } from '../log-store.ts';
import type { LogMaintenance } from '../maintenance.ts';
import { type CompactionStore, compactionStore } from './log/compaction-store.ts';
import { LogCompactor } from './log/compactor.ts';
import type { LogDamage } from './log/damage.ts';
import { entryStore } from './log/entries.ts';
import { facetStore } from './log/facet-store.ts';
import { feedbackStore } from './log/feedback.ts';
import { hedgedWorker } from './log/hedged-worker.ts';
import { lazyWorker } from './log/lazy-worker.ts';
import { logMaintenance } from './log/log-maintenance.ts';
import type { LogCompactorCall, LogReaderCall, LogSetup } from './log/protocol.ts';
import { TOO_LATE } from './log/question-time.ts';
import { rollupStore } from './log/rollup-store.ts';
import { untilSealed } from './log/unsealed.ts';
import type { LogBegin, ReaderCall, WriterCall } from './protocol.ts';
import type { WorkerBounds, WorkerClient } from './worker-client.ts';

/** A compactor without work for so long ends: a gateway at rest has no use for its memory. Milliseconds. */
const REST_MS = 2000;
/**
 * After a block it stays longer: while calls come the next block is near, and a new thread's modules and cold code cost more
 * than the block itself (measured: 10 of 90 us of a call where blocks were 3 s apart).
 */
const REST_AFTER_BLOCK_MS = 60_000;

export interface OpenLog {
  readonly store: LogStore;
  readonly maintenance: LogMaintenance;
  /** Takes over what an earlier version left, and goes on where the last process ended. */
  begin(): Promise<void>;
  readonly makeRollups: CompactionStore['makeRollups'];
  close(): Promise<void>;
}

export function openLog(
  writer: WorkerClient<WriterCall>,
  documents: WorkerClient<ReaderCall>,
  setup: LogSetup,
  bounds: WorkerBounds,
  onDamage: (damage: LogDamage) => void,
): OpenLog {
  const reading = {
    ...bounds,
    whenLate: TOO_LATE,
    onNotice: (notice: unknown) => onDamage(notice as LogDamage),
  };
  const pages = reader(setup, reading);
  const keeping = lazyWorker<LogCompactorCall>(
    new URL('./log/compactor-process.ts', import.meta.url),
    setup,
    bounds,
    {
      rest: {
        ms: ({ kind }) => (kind === 'seal' ? REST_AFTER_BLOCK_MS : REST_MS),
        lastCall: { kind: 'close' },
      },
    },
  );
  const compactor = new LogCompactor(writer, keeping, setup.block);
  const entries = entryStore(writer, pages, compactor);
  const aggregates = reader(setup, reading);
  const sums = { ...rollupStore(aggregates, bounds), ...facetStore(aggregates, bounds) };
  const feedback = feedbackStore(writer, documents, aggregates);
  const { makeRollups, remakeRollups, ...kept } = compactionStore(writer, pages, keeping, compactor);
  return {
    makeRollups,
    store: { ...kept, ...entries, ...sums, ...feedback },
    maintenance: logMaintenance(writer, documents, pages, { ...entries, ...kept, remakeRollups }),
    begin: async () => {
      const { entries: waiting, legacy } = await writer.call<LogBegin>({ kind: 'tail' });
      if (legacy) await compactor.takeOver();
      compactor.noted(waiting);
    },
    close: async () => {
      await compactor.close();
      await aggregates.close({ kind: 'close' });
      await pages.close({ kind: 'close' });
    },
  };
}

/** Reads in a process of its own, which calls do not wait for; in a thread of this process when it gets no CPU. */
function reader(setup: LogSetup, bounds: WorkerBounds): WorkerClient<LogReaderCall> {
  const entry = new URL('./log/reader.ts', import.meta.url);
  const worker = (apart: boolean) => lazyWorker<LogReaderCall>(entry, setup, bounds, { apart });
  return untilSealed(hedgedWorker(worker(true), worker(false), bounds), bounds);
}
