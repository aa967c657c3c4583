// Waits that end: after a time, or when the caller leaves.
import { Aborter, type AbortLike } from '../../lib/abort.ts';

/** Resolves after `ms`. @throws the signal's reason when it aborts before. */
export function sleep(ms: number, signal: AbortLike): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', left);
    };
    const left = (): void => {
      end();
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      end();
      resolve();
    }, ms);
    signal.addEventListener('abort', left);
    if (signal.aborted) left();
  });
}

/**
 * What `work` gives, or undefined when it fails or takes longer than `ms`; then its own signal is aborted, and
 * its result is not waited for. @throws the signal's reason when the caller leaves.
 */
export function within<T>(
  ms: number,
  signal: AbortLike,
  work: (signal: AbortLike) => Promise<T>,
): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    const own = new Aborter();
    const end = (reason?: Error): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', left);
      if (reason !== undefined) own.abort(reason);
    };
    const left = (): void => {
      end(signal.reason as Error);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      end(new Error('took too long'));
      resolve(undefined);
    }, ms);
    signal.addEventListener('abort', left);
    if (signal.aborted) return left();
    const settled = (value: T | undefined): void => {
      end();
      resolve(value);
    };
    Promise.resolve()
      .then(() => work(own))
      .then(settled, () => settled(undefined));
  });
}
