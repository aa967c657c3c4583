// A process that serves, and the first one that started it.
import cluster from 'node:cluster';
import type { FirstKeys } from '../../access/bootstrap.ts';
import type { FamilyValues } from '../../telemetry/metrics-page.ts';
import type { FromWorker, ToWorker } from './messages.ts';

/** The other side. */
export interface WorkerLink {
  /** @param firstKeys to be shown by the first process, once for all */
  ready(url: string, firstKeys: FirstKeys): void;
  /** Told when this process is to end, and why. */
  onStop(stop: (why: string) => void): void;
  /** Metrics of each process; of this one alone when the first process does not answer in time. */
  metrics(): Promise<readonly (readonly FamilyValues[])[]>;
}

/** How long the first process is waited for; then this one's own metrics are answered. */
const ALL_MS = 2000;

/** Undefined where this process is the only one. */
export function linkToPrimary(metrics: () => Promise<FamilyValues[]>): WorkerLink | undefined {
  if (!cluster.isWorker) return undefined;
  const waiting = new Map<number, (processes: readonly (readonly FamilyValues[])[]) => void>();
  let next = 0;
  let stop: ((why: string) => void) | undefined;
  /** It came before anybody listened. */
  let asked: string | undefined;
  const stopFor = (why: string): void => {
    asked ??= why;
    stop?.(why);
  };
  const send = (message: FromWorker): void => {
    if (process.connected) process.send?.(message, undefined, undefined, () => {});
  };
  process.on('message', (message: ToWorker) => {
    if (message.kind === 'stop') stopFor('the first process');
    else if (message.kind === 'all-metrics') waiting.get(message.id)?.(message.processes);
    else void metrics().then((families) => send({ kind: 'metrics', id: message.id, families }));
  });
  // Without its primary it would neither be restarted nor stopped.
  process.on('disconnect', () => stopFor('the first process is gone'));
  return {
    onStop(listener) {
      stop = listener;
      if (asked !== undefined) listener(asked);
    },
    ready: (url, firstKeys) => send({ kind: 'ready', url, firstKeys }),
    async metrics() {
      const id = next++;
      const processes = await new Promise<readonly (readonly FamilyValues[])[]>((resolve) => {
        const late = setTimeout(() => resolve([]), ALL_MS);
        waiting.set(id, (found) => {
          clearTimeout(late);
          resolve(found);
        });
        send({ kind: 'all-metrics', id });
      });
      waiting.delete(id);
      return processes.length === 0 ? [await metrics()] : processes;
    },
  };
}
