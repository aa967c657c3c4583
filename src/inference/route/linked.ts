// An abort that follows another one, and can be made on its own.
import { Aborter, type AbortLike } from '../../lib/abort.ts';
import { fail } from '../../lib/errors.ts';

/** An abort that happens with its parent's, or before. */
export class LinkedAborter extends Aborter {
  readonly #parent: AbortLike;
  readonly #follow = (): void => this.abort(reasonOf(this.#parent));

  constructor(parent: AbortLike) {
    super();
    this.#parent = parent;
    if (parent.aborted) this.abort(reasonOf(parent));
    else parent.addEventListener('abort', this.#follow);
  }

  /** Follows the parent no more: what it was made for is over. */
  unlink(): void {
    this.#parent.removeEventListener('abort', this.#follow);
  }
}

/** Why a signal was aborted, as an error. */
export function reasonOf(signal: AbortLike): Error {
  return signal.reason instanceof Error
    ? signal.reason
    : fail('client_closed', 'the call was given up', { cause: signal.reason });
}
