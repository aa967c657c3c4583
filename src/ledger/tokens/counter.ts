// Counts the tokens of texts, in a worker that starts when it is first needed.
import { Worker } from 'node:worker_threads';
import { roughTokens } from '../../providers/usage/rough-tokens.ts';

/** Counts tokens. */
export interface TokenCounter {
  /** Never rejects: when the worker is late, gone or has too much to do, a quarter of the bytes is the answer. */
  count(texts: readonly string[]): Promise<readonly number[]>;
  close(): Promise<void>;
}

/** The first text also waits for the worker's start. */
const LATE_MS = 3000;
const MOST_WAITING = 1000;
/** Of one text, in UTF-16 units; longer ones are measured, not counted. */
const LONGEST = 200_000;
/** After the last count the worker ends: its vocabulary takes 50 MB, and most providers report their usage. */
const IDLE_MS = 5000;

export function createTokenCounter(): TokenCounter {
  let worker: Worker | undefined;
  let idle: NodeJS.Timeout | undefined;
  let next = 0;
  const waiting = new Map<number, (counts: readonly number[] | undefined) => void>();

  const gone = (own: Worker): void => {
    if (worker !== own) return;
    worker = undefined;
    for (const tell of [...waiting.values()]) tell(undefined);
  };
  const rest = (): void => {
    clearTimeout(idle);
    if (waiting.size > 0) return;
    idle = setTimeout(() => {
      const own = worker;
      worker = undefined;
      void own?.terminate();
    }, IDLE_MS).unref();
  };
  const start = (): Worker => {
    const made = new Worker(new URL('./worker.ts', import.meta.url));
    made.unref();
    made.on('message', ([id, counts]: [number, readonly number[]]) => {
      waiting.get(id)?.(counts);
      rest();
    });
    made.on('error', () => gone(made));
    made.on('exit', () => gone(made));
    return made;
  };
  const ask = (texts: readonly string[]): Promise<readonly number[] | undefined> =>
    new Promise((resolve) => {
      worker ??= start();
      clearTimeout(idle);
      const id = next++;
      const late = setTimeout(() => tell(undefined), LATE_MS);
      const tell = (counts: readonly number[] | undefined): void => {
        clearTimeout(late);
        waiting.delete(id);
        resolve(counts);
      };
      waiting.set(id, tell);
      worker.postMessage([id, texts]);
    });

  return {
    async count(texts) {
      const tooMuch = waiting.size >= MOST_WAITING || texts.some(({ length }) => length > LONGEST);
      const counts = tooMuch ? undefined : await ask(texts);
      return counts ?? texts.map(measured);
    },
    async close() {
      clearTimeout(idle);
      await worker?.terminate();
    },
  };
}

/** A quarter of a text's bytes: the estimate of its tokens where they are not counted. */
export function measured(text: string): number {
  return roughTokens(Buffer.byteLength(text));
}
