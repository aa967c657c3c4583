// What a caller sends in pieces, waited for within bounds.
import type { AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';

/** How long a caller's next message may be waited for. */
const MESSAGE_MS = 60_000;

/** A caller's next message, waited for within bounds: the call's own, and MESSAGE_MS. */
export function arriving<T>(message: Promise<T>, signal: AbortLike): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = (): void => settle(() => reject(signal.reason));
    const late = setTimeout(
      () => settle(() => reject(fail('request_timeout', 'the next message did not arrive in time'))),
      MESSAGE_MS,
    );
    const settle = (then: () => void): void => {
      clearTimeout(late);
      signal.removeEventListener('abort', aborted);
      then();
    };
    signal.addEventListener('abort', aborted);
    if (signal.aborted) aborted();
    message.then(
      (value) => settle(() => resolve(value)),
      (error: unknown) => settle(() => reject(error)),
    );
  });
}
