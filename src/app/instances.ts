// The heartbeat of this process, and the list of all processes that share the store.
import cluster from 'node:cluster';
import { randomUUID } from 'node:crypto';
import { hostname } from 'node:os';
import type { ListedProcesses } from '../admin/status/instances.ts';
import { settledWithin } from '../lib/settled-within.ts';
import type { Heartbeat, Heartbeats } from '../store/heartbeats.ts';

const BEAT_MS = 5000;
/** How long a list and the farewell wait for the store. */
const LIST_MS = 2000;
const LEAVE_MS = 1000;

export interface InstancesDeps {
  /** Undefined: no other process has the store. */
  readonly heartbeats: Heartbeats | undefined;
  readonly version: string;
  /** Entries of the request log that are not stored yet, and how long the oldest has waited. */
  readonly log: () => { readonly buffered: number; readonly lagMs: number };
}

export interface Instances {
  /** All processes with a recent heartbeat; this one alone when the store does not answer in time. */
  list(): Promise<ListedProcesses>;
  /** Takes this process off the list. */
  close(): Promise<void>;
}

/** Begins to tell. */
export function openInstances({ heartbeats, version, log }: InstancesDeps): Instances {
  const id = randomUUID();
  const first = cluster.isWorker ? process.ppid : process.pid;
  const own = (): Heartbeat => {
    const { buffered, lagMs } = log();
    return {
      id,
      instance: `${hostname()}:${first}`,
      pid: process.pid,
      version,
      runtime: process.version,
      upMs: Math.round(process.uptime() * 1000),
      logBuffered: buffered,
      logLagMs: lagMs,
    };
  };
  if (heartbeats === undefined)
    return {
      list: async () => ({ ownId: id, processes: [{ ...own(), ageMs: 0 }], isComplete: true }),
      close: async () => {},
    };
  let closed = false;
  let beating = Promise.resolve();
  const beat = (): void => {
    // The next one follows: a store that is away for a time has its processes again when it is back.
    beating = heartbeats.beat(own()).catch(() => {});
  };
  beat();
  const timer = setInterval(beat, BEAT_MS).unref();
  return {
    async list() {
      const alone = { ownId: id, processes: [{ ...own(), ageMs: 0 }], isComplete: false };
      // A look after the farewell would put the process on the list again.
      if (closed) return alone;
      let found: ListedProcesses = alone;
      const look = heartbeats.recent(own()).then(
        (processes) => {
          found = { ownId: id, processes, isComplete: true };
        },
        () => {},
      );
      await settledWithin([look], LIST_MS);
      return found;
    },
    async close() {
      closed = true;
      clearInterval(timer);
      await settledWithin([beating.then(() => heartbeats.leave(id)).catch(() => {})], LEAVE_MS);
    },
  };
}
