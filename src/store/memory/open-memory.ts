// Shared state of one process: what must outlive it as rows, the rest in memory.
import { chmodSync, closeSync, mkdirSync, openSync } from 'node:fs';
import { join } from 'node:path';
import { fail } from '../../lib/errors.ts';
import { checkNotice, createListeners } from '../shared/notices.ts';
import { sharedStateOver } from '../shared/over-scripts.ts';
import type { ArgsOf, ResultOf, ScriptName } from '../shared/scripts.ts';
import type { SharedState } from '../shared-state.ts';
import { lazyWorker } from '../sqlite/log/lazy-worker.ts';
import { startWorker } from '../sqlite/worker-client.ts';
import { isAtRest, nothingOf } from './at-rest.ts';
import { cacheBodies } from './cache.ts';
import type { Body, DURABLE, DurableName, StateCall } from './call.ts';
import { circuitBodies } from './circuit.ts';
import { leaseBodies } from './lease.ts';
import { momentOf } from './moment.ts';
import { vectorBodies } from './vectors.ts';

export interface MemoryStateOptions {
  /** Holds state.db. Made when it is not there; one process at a time. */
  readonly dataDir: string;
  /** How long a call may take, in milliseconds; 5000 by default. */
  readonly deadlineMs?: number;
  /** Calls that may wait for the worker; 10,000 by default. */
  readonly maxQueued?: number;
  /** How long settled ids and journal ids are known, in milliseconds; 15 minutes by default. */
  readonly rememberMs?: number;
  /**
   * The worker starts with the first call that needs it, where nothing of an earlier process waits. Only with a data
   * directory that another lock keeps other processes out of; false by default.
   */
  readonly lazy?: boolean;
  /** The store's clock in milliseconds; Date.now by default. */
  readonly clock?: () => number;
}

const READY_MS = 1000;
const MAX_QUEUED_LENGTH = 128 * 1024 * 1024;

/** Opens (or makes) the state of a data directory. @throws GatewayError store_unavailable naming the directory. */
export async function openMemoryState(options: MemoryStateOptions): Promise<SharedState> {
  const {
    dataDir,
    deadlineMs = 5000,
    maxQueued = 10_000,
    rememberMs = 15 * 60_000,
    clock = Date.now,
    lazy = false,
  } = options;
  const path = privateFile(dataDir);
  const entry = new URL('./worker.ts', import.meta.url);
  const bounds = { deadlineMs, maxQueued, maxQueuedLength: MAX_QUEUED_LENGTH };
  const setup = { path, collections: [] };
  let asleep = lazy && isAtRest(path);
  const opened = asleep
    ? Promise.resolve(lazyWorker<StateCall>(entry, setup, bounds))
    : startWorker<StateCall>(entry, setup, bounds);
  const worker = await opened.catch((cause: unknown) => {
    const why = cause instanceof Error ? cause.message : '';
    throw fail(
      'store_unavailable',
      /locked/.test(why)
        ? `the shared state in ${dataDir} is in use by another process`
        : `the shared state in ${dataDir} cannot be opened: ${why}`,
      { cause },
    );
  });
  const bodies = memoryBodies();
  const listeners = createListeners();
  let closed = false;

  async function run<N extends ScriptName>(
    name: N,
    org: string,
    args: ArgsOf<N>,
    callMs = deadlineMs,
  ): Promise<ResultOf<N>> {
    refuseClosed();
    const at = momentOf(clock(), rememberMs);
    const body = bodies.get(name) as Body<N> | undefined;
    if (body !== undefined) return body(org, args, at);
    const nothing = asleep ? nothingOf(name) : undefined;
    if (nothing !== undefined) return nothing;
    asleep = false;
    const call = {
      kind: 'run',
      name: name as DurableName,
      org,
      args: args as ArgsOf<DurableName>,
      at,
    } as const;
    return worker.call<ResultOf<N>>(call, 0, Math.min(callMs, deadlineMs));
  }

  function refuseClosed(): void {
    if (closed) throw fail('store_unavailable', 'the shared store is closed');
  }

  return sharedStateOver(run, {
    publish: async (notice) => {
      refuseClosed();
      checkNotice(notice);
      queueMicrotask(() => listeners.tell({ kind: 'changed', notice }));
    },
    subscribe: listeners.add,
    ready: async () => {
      if (!asleep) await worker.call({ kind: 'ping' }, 0, READY_MS);
    },
    close: async () => {
      closed = true;
      await worker.close({ kind: 'close' });
    },
  });
}

/** The scripts that need no rows; the worker has the others. */
function memoryBodies(): ReadonlyMap<ScriptName, unknown> {
  const [leases, circuits, cache] = [leaseBodies(), circuitBodies(), cacheBodies()];
  const vectors = vectorBodies();
  const bodies: { readonly [N in Exclude<ScriptName, (typeof DURABLE)[number]>]: Body<N> } = {
    acquireLease: leases.acquire,
    renewLease: leases.renew,
    releaseLease: leases.release,
    allowCircuit: circuits.allow,
    reportCircuit: circuits.report,
    readCircuit: circuits.read,
    readCache: cache.read,
    writeCache: cache.write,
    removeCache: cache.remove,
    addVector: vectors.add,
    nearVectors: vectors.near,
    removeVector: vectors.remove,
  };
  return new Map(Object.entries(bodies) as [ScriptName, unknown][]);
}

/** The database's path, for its owner alone. An existing file is not opened: closing it would drop locks. */
function privateFile(dataDir: string): string {
  const path = join(dataDir, 'state.db');
  try {
    mkdirSync(dataDir, { recursive: true, mode: 0o700 });
    closeSync(openSync(path, 'wx', 0o600));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') {
      throw fail('store_unavailable', `the data directory ${dataDir} cannot be used`, { cause: error });
    }
    chmodSync(path, 0o600);
  }
  return path;
}
