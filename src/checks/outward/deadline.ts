// A signal that ends when another one does or when time is up, whichever is first.
import { Aborter, type AbortLike } from '../../lib/abort.ts';

/** A signal with an end of its own. */
export interface Deadline {
  readonly signal: AbortLike;
  /** Forgets the clock and the other signal; call it always. */
  release(): void;
}

/** @param expired makes the reason of the abort when the time is over */
export function deadline(parent: AbortLike, ms: number, expired: () => Error): Deadline {
  const aborter = new Aborter();
  const onParent = (): void =>
    aborter.abort(parent.reason instanceof Error ? parent.reason : new Error('the call was given up'));
  if (parent.aborted) onParent();
  else parent.addEventListener('abort', onParent);
  const timer = setTimeout(() => aborter.abort(expired()), ms);
  return {
    signal: aborter,
    release() {
      clearTimeout(timer);
      parent.removeEventListener('abort', onParent);
    },
  };
}

/** A promise that rejects with the signal's reason once it ends, even when the work continues. */
export function orAbort<T>(work: Promise<T>, signal: AbortLike): Promise<T> {
  if (signal.aborted) {
    work.catch(() => {});
    return Promise.reject(signal.reason);
  }
  return new Promise<T>((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort);
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  });
}
