// Flights, put together: what gone processes left is replayed, what the log had no room for is carried on later.
import { join } from 'node:path';
import type { RequestLog } from '../request-log.ts';
import { takeLeft } from './flight-folder.ts';
import { Flights } from './flights.ts';
import { carryEntries, type ReplayFacts, replay } from './replay.ts';

export interface FlightsParts {
  readonly dataDir: string;
  readonly onTrouble: (error: unknown, what: string) => void;
  readonly onLost: (count: number) => void;
  readonly onReplayed?: (found: { readonly entries: number; readonly interrupted: number }) => void;
  readonly segmentBytes?: number;
  readonly mostBytes?: number;
}

export interface OpenFlights {
  readonly flights: Flights;
  /** Replays what gone processes left, now and from time to time. Resolves when the first turn is over. */
  follow(facts: ReplayFacts, log: Pick<RequestLog, 'stats'>): Promise<void>;
  close(): Promise<void>;
}

/** What other processes on the folder left is looked for so often. */
const LEFT_MS = 3000;
const SPILLED_MS = 500;

/** @throws Error of the system when the data folder cannot be written */
export function openFlights({ dataDir, onReplayed, ...facts }: FlightsParts): OpenFlights {
  const folder = join(dataDir, 'flights');
  const flights = new Flights({ ...facts, folder });
  const timers: NodeJS.Timeout[] = [];
  let busy: Promise<void> = Promise.resolve();

  const replayLeft = async (with_: ReplayFacts): Promise<void> => {
    for (const left of takeLeft(folder, flights.owner)) {
      try {
        const found = await replay(with_, left.segments());
        left.remove();
        if (found.entries + found.interrupted > 0) onReplayed?.(found);
      } catch (error) {
        left.release();
        facts.onTrouble(error, 'calls that a process left cannot be brought into the books yet');
        return;
      }
    }
  };
  const carrySpilled = async (with_: ReplayFacts, log: Pick<RequestLog, 'stats'>): Promise<void> => {
    try {
      // While entries wait in memory the store has enough to do.
      while (flights.spilled > 0 && log.stats().buffered < FEW) {
        await flights.unspill((path) => carryEntries(with_.store, path));
      }
    } catch (error) {
      facts.onTrouble(error, 'entries in files cannot be carried on yet');
    }
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
      await replayLeft(with_);
      every(LEFT_MS, () => replayLeft(with_));
      every(SPILLED_MS, () => carrySpilled(with_, log));
    },
    async close() {
      for (const timer of timers) clearInterval(timer);
      await busy;
      flights.close();
    },
  };
}

/** Entries in memory below which those in files are carried on. */
const FEW = 2000;
