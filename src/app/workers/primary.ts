// Several processes on one port: this one starts those that serve, and starts one anew when it ends.
import cluster, { type Worker } from 'node:cluster';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { FirstKeys } from '../../access/bootstrap.ts';
import type { FamilyValues } from '../../telemetry/metrics-page.ts';
import type { FromWorker, ToWorker } from './messages.ts';

const RESTART_FIRST_MS = 200;
const RESTART_LAST_MS = 10_000;
/** A process that has served for this long begins anew with the first pause. */
const SETTLED_MS = 60_000;
/** How long metrics of all processes are waited for. */
const METRICS_MS = 1000;

interface Asked {
  readonly processes: (readonly FamilyValues[])[];
  readonly missing: Set<number>;
  readonly tell: () => void;
}

/** The options of the first process. */
export interface PrimaryDeps {
  readonly workers: number;
  readonly log: Logger;
  /** All serve for the first time. */
  readonly onReady: (url: string, firstKeys: FirstKeys) => void;
}

/** Runs the processes until a signal comes. Resolves with the exit code. */
export function runWorkers({ workers, log, onReady }: PrimaryDeps): Promise<number> {
  return new Promise((resolve) => {
    const ready = new Set<number>();
    const asked = new Map<number, Asked>();
    let everReady = false;
    let stopping = false;
    let failed = false;
    let pauseMs = RESTART_FIRST_MS;
    let nextAsk = 0;

    const send = (worker: Worker, message: ToWorker): void => {
      if (worker.isConnected()) worker.send(message, () => {});
    };
    const all = (): Worker[] => Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);

    async function askAll(from: Worker, id: number): Promise<void> {
      const number = nextAsk++;
      const processes: (readonly FamilyValues[])[] = [];
      const others = all().filter((worker) => ready.has(worker.id));
      const done = new Promise<void>((tell) => {
        asked.set(number, { processes, missing: new Set(others.map((worker) => worker.id)), tell });
      });
      for (const worker of others) send(worker, { kind: 'metrics?', id: number });
      await Promise.race([done, sleep(METRICS_MS)]);
      asked.delete(number);
      send(from, { kind: 'all-metrics', id, processes });
    }

    function take(worker: Worker, message: FromWorker): void {
      switch (message.kind) {
        case 'ready':
          ready.add(worker.id);
          // It was starting when the others got the message.
          if (stopping) send(worker, { kind: 'stop' });
          if (everReady || ready.size < workers) return;
          everReady = true;
          onReady(message.url, message.firstKeys);
          return;
        case 'all-metrics':
          void askAll(worker, message.id);
          return;
        case 'metrics': {
          const waiting = asked.get(message.id);
          if (waiting === undefined || !waiting.missing.delete(worker.id)) return;
          waiting.processes.push(message.families);
          if (waiting.missing.size === 0) waiting.tell();
        }
      }
    }

    function start(): void {
      const worker = cluster.fork();
      const began = performance.now();
      worker.on('message', (message: FromWorker) => take(worker, message));
      worker.on('exit', (code, signal) => void ended(worker, code, signal, performance.now() - began));
    }

    async function ended(
      worker: Worker,
      code: number,
      signal: string | null,
      servedMs: number,
    ): Promise<void> {
      ready.delete(worker.id);
      for (const waiting of asked.values()) {
        if (waiting.missing.delete(worker.id) && waiting.missing.size === 0) waiting.tell();
      }
      if (stopping || !everReady) {
        // What stops the first start of one stops all: a setting, or a store that is not there.
        if (code !== 0) failed = true;
        if (!stopping) stop('the start failed');
        if (all().length === 0) resolve(failed ? 1 : 0);
        return;
      }
      log.error({ code, signal, pid: worker.process.pid }, 'a process ended; another one is started');
      if (servedMs > SETTLED_MS) pauseMs = RESTART_FIRST_MS;
      await sleep(pauseMs);
      pauseMs = Math.min(pauseMs * 2, RESTART_LAST_MS);
      if (!stopping) start();
      else if (all().length === 0) resolve(failed ? 1 : 0);
    }

    function stop(why: string): void {
      if (stopping) {
        // A second signal does not wait for open calls.
        for (const worker of all()) worker.process.kill('SIGKILL');
        return;
      }
      stopping = true;
      log.info({ why }, 'draining all processes');
      for (const worker of all()) send(worker, { kind: 'stop' });
      if (all().length === 0) resolve(failed ? 1 : 0);
    }

    process.on('SIGTERM', () => stop('SIGTERM'));
    process.on('SIGINT', () => stop('SIGINT'));
    for (let i = 0; i < workers; i++) start();
  });
}
