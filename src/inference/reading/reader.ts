// Long answers are read on a thread of their own, one after the other: workspaces share its time. The thread starts with the
// first of them, and ends when none came for some time.
import { Worker } from 'node:worker_threads';
import { FairQueue, type Line } from '../../checks/sandbox/fair-queue.ts';
import type { AbortLike } from '../../lib/abort.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { nextTurn } from '../../lib/time-slices.ts';
import type { ReadingOrder, ReadingReply, ReadReply } from './order.ts';

/** Reads long answers. */
export interface AnswerReader {
  /**
   * @param line whose answer it is @param signal a call that has ended is not read
   * @throws GatewayError what reading the answer throws; `overloaded` when too much waits; `upstream_garbage` when it takes
   * too long or too much memory
   */
  read(line: Line, order: ReadingOrder, body: Uint8Array, signal: AbortLike): Promise<ReadReply>;
  close(): Promise<void>;
}

/** Bytes of answers that may wait. */
const MOST_WAITING_BYTES = 268_435_456;
/** Longest reading of one answer, by the wall: the heaviest one takes some seconds. */
const DEADLINE_MS = 30_000;
/** After the last answer the thread ends: its heap may have grown. */
const IDLE_MS = 10_000;
const MAX_HEAP_MB = 1024;
/** Bytes that are copied in one turn of the event loop. */
const TURN_BYTES = 2_097_152;
const ENTRY = new URL('./worker.ts', import.meta.url);

interface Task {
  readonly line: Line;
  readonly order: ReadingOrder;
  readonly body: Uint8Array;
  readonly signal: AbortLike;
  resolve(reply: ReadReply): void;
  reject(error: GatewayError): void;
}

/** Makes a reader; nothing is started before the first answer. */
export function createAnswerReader(): AnswerReader {
  return new ThreadReader();
}

class ThreadReader implements AnswerReader {
  readonly #queue = new FairQueue<Task>();
  #waitingBytes = 0;
  #worker: Worker | undefined;
  #busy = false;
  #closed = false;
  #idle: NodeJS.Timeout | undefined;
  /** Told what becomes of the order that the worker has; undefined: it took too long, or the worker ended. */
  #answered: ((reply: ReadingReply | undefined) => void) | undefined;

  read(line: Line, order: ReadingOrder, body: Uint8Array, signal: AbortLike): Promise<ReadReply> {
    if (this.#waitingBytes + body.length > MOST_WAITING_BYTES)
      throw fail('overloaded', 'too many long answers are waiting to be read', { retryAfterMs: 1000 });
    this.#waitingBytes += body.length;
    return new Promise((resolve, reject) => {
      this.#queue.push(line, { line, order, body, signal, resolve, reject });
      void this.#serve();
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#idle);
    await this.#stop();
    this.#answered?.(undefined);
  }

  async #serve(): Promise<void> {
    if (this.#busy) return;
    this.#busy = true;
    clearTimeout(this.#idle);
    for (let task = this.#queue.shift(); task !== undefined; task = this.#queue.shift()) {
      const began = performance.now();
      const reply = task.signal.aborted || this.#closed ? undefined : await this.#replyTo(task);
      this.#waitingBytes -= task.body.length;
      this.#queue.done(task.line, performance.now() - began);
      if (reply?.kind === 'read') task.resolve(reply);
      else task.reject(reply === undefined ? interrupted(task.order.provider) : errorOf(reply));
    }
    this.#busy = false;
    if (!this.#closed) this.#idle = setTimeout(() => void this.#stop(), IDLE_MS).unref();
  }

  async #replyTo({ order, body }: Task): Promise<ReadingReply | undefined> {
    const shared = await sharedCopy(body);
    if (this.#closed) return undefined;
    return new Promise((resolve) => {
      const late = setTimeout(() => {
        void this.#stop();
        this.#answered?.(undefined);
      }, DEADLINE_MS);
      const answered = (reply: ReadingReply | undefined): void => {
        clearTimeout(late);
        this.#answered = undefined;
        resolve(reply);
      };
      this.#answered = answered;
      this.#worker ??= this.#start();
      this.#worker.postMessage({ ...order, body: shared });
    });
  }

  #start(): Worker {
    const made = new Worker(ENTRY, { env: {}, resourceLimits: { maxOldGenerationSizeMb: MAX_HEAP_MB } });
    const gone = (): void => {
      if (this.#worker !== made) return;
      this.#worker = undefined;
      this.#answered?.(undefined);
    };
    made.unref();
    made.on('message', (reply: ReadingReply) => this.#answered?.(reply));
    made.on('error', gone);
    made.on('exit', gone);
    return made;
  }

  async #stop(): Promise<void> {
    const own = this.#worker;
    this.#worker = undefined;
    await own?.terminate();
  }
}

/** A copy that two threads see, made in turns of the event loop. */
async function sharedCopy(body: Uint8Array): Promise<SharedArrayBuffer> {
  const shared = new SharedArrayBuffer(body.length);
  const bytes = new Uint8Array(shared);
  for (let at = 0; at < body.length; at += TURN_BYTES) {
    bytes.set(body.subarray(at, at + TURN_BYTES), at);
    if (at + TURN_BYTES < body.length) await nextTurn();
  }
  return shared;
}

function errorOf({ reason, message, details }: Extract<ReadingReply, { kind: 'failed' }>): GatewayError {
  return new GatewayError(reason, message, details);
}

function interrupted(provider: string): GatewayError {
  return fail('upstream_garbage', `the answer of ${provider} takes too much time or memory to be read`, {
    provider,
  });
}
