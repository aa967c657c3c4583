// Opens the in-flight journal: journals of gone processes are replayed, spilled log entries are carried on later.
import { join } from 'node:path';
import type { FlightMirror, LeftFlights } from '../../store/flight-mirror.ts';
import { isAway } from '../limits/retry-queue.ts';
import type { RequestLog } from '../request-log.ts';
import { takeLeft } from './flight-folder.ts';
import { InFlightJournal } from './in-flight-journal.ts';
import { copiedFile, ownFile } from './line-file.ts';
import { carryEntries, type ReplayDeps, replay } from './replay.ts';
import { markReplayed } from './replayed.ts';

export interface InFlightJournalParts {
  readonly dataDir: string;
  readonly onTrouble: (error: unknown, what: string) => void;
  readonly onLost: (count: number) => void;
  readonly onReplayed?: (found: { readonly entries: number; readonly interrupted: number }) => void;
  readonly segmentBytes?: number;
  readonly mostBytes?: number;
  readonly mirrorOf?: ((owner: string) => FlightMirror) | undefined;
  /** The interval of this process's heartbeat, and of the search for processes without one, in milliseconds. */
  readonly beatMs?: number;
  /** The interval at which journals that other processes left in the folder are looked for, in milliseconds. */
  readonly leftMs?: number;
}

export interface OpenInFlightJournal {
  readonly flights: InFlightJournal;
  /** Replays the journals of gone processes, now and periodically. Resolves when the first turn is over. */
  follow(deps: ReplayDeps, log: Pick<RequestLog, 'stats'>): Promise<void>;
  close(): Promise<void>;
}

const LEFT_MS = 3000;
const SPILLED_MS = 500;
const BEAT_MS = 10_000;
/** Entries of one append. */
const SLICE = 500;

/** @throws Error of the system when the data folder cannot be written */
export function openInFlightJournal({
  dataDir,
  onReplayed,
  beatMs = BEAT_MS,
  leftMs = LEFT_MS,
  ...rest
}: InFlightJournalParts): OpenInFlightJournal {
  const folder = join(dataDir, 'flights');
  const flights = new InFlightJournal({ ...rest, folder });
  const timers: NodeJS.Timeout[] = [];
  let busy: Promise<void> = Promise.resolve();
  let slice = SLICE;

  const replayLeft = async (with_: ReplayDeps): Promise<void> => {
    for (const left of takeLeft(folder, flights.owner)) {
      try {
        const found = await replay({ ...with_, slice }, left.segments().map(ownFile));
        slice = SLICE;
        if (left.isWhole()) await markReplayed(with_.state, left.owner);
        left.remove();
        if (found.entries + found.interrupted > 0) onReplayed?.(found);
      } catch (error) {
        left.release();
        // A slow store takes fewer at a time.
        slice = Math.max(25, slice >> 1);
        rest.onTrouble(error, 'calls that a process left cannot be brought into the books yet');
        // A folder that cannot be read holds up no other; a store that is away holds up all.
        if (isAway(error)) return;
      }
    }
  };
  const carrySpilled = async (with_: ReplayDeps, log: Pick<RequestLog, 'stats'>): Promise<void> => {
    try {
      // While entries wait in memory the store has enough to do.
      while (flights.spilled > 0 && log.stats().buffered < FEW) {
        await flights.unspill((path) => carryEntries(with_.store, ownFile(path)));
      }
    } catch (error) {
      rest.onTrouble(error, 'entries in files cannot be carried on yet');
    }
  };

  const { mirror } = flights;
  let unheard = false;
  /** While Redis is unavailable the machine's files are the only copy. */
  const beat = async (with_: ReplayDeps): Promise<void> => {
    if (mirror === undefined) return;
    try {
      if (!(await mirror.beat())) flights.renew();
      for (const left of await mirror.takeLapsed()) await replayCopy(with_, left);
      unheard = false;
    } catch (error) {
      if (!unheard) rest.onTrouble(error, 'calls in flight are not copied for other machines now');
      unheard = true;
    }
  };
  const replayCopy = async (with_: ReplayDeps, left: LeftFlights): Promise<void> => {
    const files = (await left.files()).map(({ number, lines }) => copiedFile(number, lines, Date.now()));
    const found = await replay({ ...with_, slice }, files);
    await left.remove();
    if (found.entries + found.interrupted > 0) onReplayed?.(found);
  };

  return {
    flights,
    async follow(with_, log) {
      const every = (ms: number, work: () => Promise<void>): void => {
        let running = false;
        const timer = setInterval(() => {
          if (running) return;
          running = true;
          busy = work().finally(() => {
            running = false;
          });
        }, ms);
        timers.push(timer.unref());
      };
      await Promise.all([replayLeft(with_), beat(with_)]);
      every(beatMs, () => beat(with_));
      every(leftMs, () => replayLeft(with_));
      every(SPILLED_MS, () => carrySpilled(with_, log));
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      await busy;
      const empty = flights.close();
      await mirror?.close(empty);
    },
  };
}

/** The number of entries in memory below which entries in files are carried on. */
const FEW = 2000;
