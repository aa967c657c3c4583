// Compares bodies with a text off the event loop: a body of a megabyte with an escape at each sign takes half a second.
import { Worker } from 'node:worker_threads';
import type { MatchAnswer, MatchRequest } from './body-matcher-worker.ts';

/** A worker without work ends after this time, in milliseconds. */
const IDLE_MS = 10_000;

type Waiting = Pick<PromiseWithResolvers<Matched>, 'resolve' | 'reject'>;

/** What comparing came to. */
export interface Matched {
  readonly holds: boolean;
  /** Of the record's text, unpacked. */
  readonly bytes: number;
}

/** One worker, started when it is needed. */
export class BodyMatcher {
  readonly #waiting = new Map<number, Waiting>();
  #worker: Worker | undefined;
  #idle: NodeJS.Timeout | undefined;
  #next = 0;

  /**
   * Whether what was said in a request holds a text.
   * @param data its record as JSON, compressed (zstd) @param needle in lower case
   * @throws Error when the record cannot be read
   */
  match(data: Uint8Array, needle: string): Promise<Matched> {
    clearTimeout(this.#idle);
    this.#worker ??= this.#start();
    this.#worker.ref();
    const { promise, resolve, reject } = Promise.withResolvers<Matched>();
    const request: MatchRequest = { id: ++this.#next, data, needle };
    this.#waiting.set(request.id, { resolve, reject });
    this.#worker.postMessage(request);
    return promise;
  }

  #start(): Worker {
    const worker = new Worker(new URL('./body-matcher-worker.ts', import.meta.url));
    const gone = (error?: Error): void => {
      if (this.#worker !== worker) return;
      this.#worker = undefined;
      const cause = error ?? new Error('the worker that searches bodies has ended');
      for (const { reject } of this.#waiting.values()) reject(cause);
      this.#waiting.clear();
    };
    worker.on('message', (answer: MatchAnswer) => {
      const waiting = this.#waiting.get(answer.id);
      this.#waiting.delete(answer.id);
      if (this.#waiting.size === 0) this.#rest(worker);
      if (answer.fault === undefined) waiting?.resolve(answer);
      else waiting?.reject(new Error(answer.fault));
    });
    worker.on('error', gone).on('exit', () => gone());
    return worker;
  }

  #rest(worker: Worker): void {
    worker.unref();
    this.#idle = setTimeout(() => {
      if (this.#worker !== worker || this.#waiting.size > 0) return;
      this.#worker = undefined;
      void worker.terminate();
    }, IDLE_MS).unref();
  }
}
