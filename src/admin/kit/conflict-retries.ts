// Optimistic concurrency: a change is read, computed and written; after a lost race it starts again, unseen by callers.
import type { Call } from '../../call/call.ts';
import type { Reason } from '../../lib/errors.ts';
import { LOST_RACE, retryOnConflict } from './retry-on-conflict.ts';

type Methods = Readonly<Record<string, (request: never, call: Call) => Promise<unknown>>>;

/**
 * The methods of a service, each repeated when a document it read was written by another before it wrote. For methods
 * that answer nothing before they have written, and may be begun again.
 * @param lost the reasons of a lost commit
 */
export function withConflictRetries<M extends Methods>(methods: M, lost: ReadonlySet<Reason> = LOST_RACE): M {
  return Object.fromEntries(
    Object.entries(methods).map(([name, method]) => [
      name,
      (request: never, call: Call) => retryOnConflict(() => method(request, call), lost),
    ]),
  ) as M;
}
