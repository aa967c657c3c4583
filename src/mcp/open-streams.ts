// Streams that are open: their callers are asked again and again whether they may still have them, so that a key that
// is revoked, or a user who is shut out, loses them within a second.

import { fail, type GatewayError } from '../lib/errors.ts';

/** One open stream. */
export interface OpenStream {
  /** Whether the caller may still have it. Must not throw. */
  readonly isAllowed: () => boolean | Promise<boolean>;
  /** Ends it. */
  readonly end: (why: GatewayError) => void;
  /** Told of each look at it. */
  readonly look?: () => void;
}

const EVERY_MS = 400;
/** Streams that are looked at in one turn of the event loop. */
const SLICE = 200;

export class OpenStreams {
  readonly #open = new Set<OpenStream>();
  #timer: NodeJS.Timeout | undefined;
  #isLooking = false;
  #isClosed = false;

  get size(): number {
    return this.#open.size;
  }

  /** @returns what takes it out again */
  add(stream: OpenStream): () => void {
    if (this.#isClosed) {
      stream.end(stopping());
      return () => {};
    }
    this.#open.add(stream);
    this.#timer ??= setInterval(() => void this.#look(), EVERY_MS).unref();
    return () => {
      this.#open.delete(stream);
      if (this.#open.size > 0) return;
      clearInterval(this.#timer);
      this.#timer = undefined;
    };
  }

  /** Ends all streams; those that come later end at once. */
  close(): void {
    this.#isClosed = true;
    for (const stream of [...this.#open]) stream.end(stopping());
  }

  async #look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    let count = 0;
    for (const stream of [...this.#open]) {
      if (!(await stream.isAllowed())) stream.end(notAllowed());
      else stream.look?.();
      if (++count % SLICE === 0) await new Promise<void>((resolve) => setImmediate(resolve));
    }
    this.#isLooking = false;
  }
}

function stopping(): GatewayError {
  return fail('overloaded', 'the gateway is about to stop');
}

function notAllowed(): GatewayError {
  return fail('forbidden', 'the caller may not use this MCP server any more');
}
