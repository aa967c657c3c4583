// A process that serves, and the first one that started it.
import cluster from 'node:cluster';
import { mergeMetrics } from './merge-metrics.ts';
import type { FromWorker, ToWorker } from './messages.ts';

type Page = { readonly type: string; readonly text: string };

/** The other side. */
export interface WorkerLink {
  ready(url: string): void;
  /** Told when this process is to end, and why. */
  onStop(stop: (why: string) => void): void;
  /** Metrics of all processes. */
  metrics(): Promise<Page>;
}

/** How long the first process is waited for; then this one's own metrics are answered. */
const ALL_MS = 2000;

/** Undefined where this process is the only one. */
export function linkToPrimary(metrics: () => Promise<Page>): WorkerLink | undefined {
  if (!cluster.isWorker) return undefined;
  const waiting = new Map<number, (texts: readonly string[]) => void>();
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
    else if (message.kind === 'all-metrics') waiting.get(message.id)?.(message.texts);
    else void metrics().then(({ text }) => send({ kind: 'metrics', id: message.id, text }));
  });
  // Nobody would start it anew, and nobody could stop it.
  process.on('disconnect', () => stopFor('the first process is gone'));
  return {
    onStop(listener) {
      stop = listener;
      if (asked !== undefined) listener(asked);
    },
    ready: (url) => send({ kind: 'ready', url }),
    async metrics() {
      const id = next++;
      const texts = await new Promise<readonly string[]>((resolve) => {
        const late = setTimeout(() => resolve([]), ALL_MS);
        waiting.set(id, (found) => {
          clearTimeout(late);
          resolve(found);
        });
        send({ kind: 'all-metrics', id });
      });
      waiting.delete(id);
      const own = await metrics();
      return texts.length === 0 ? own : { type: own.type, text: mergeMetrics(texts) };
    },
  };
}
