// A wait that ends with its signal.
import type { AbortLike } from '../../lib/abort.ts';

/** @throws the signal's reason */
export function pause(ms: number, signal: AbortLike): Promise<void> {
  return new Promise((resolve, reject) => {
    const left = (): void => {
      clearTimeout(timer);
      reject(signal.reason);
    };
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', left);
      resolve();
    }, ms);
    if (signal.aborted) left();
    else signal.addEventListener('abort', left);
  });
}
