// A guard laid over a stream of events.
import { denied } from '../runner/answer.ts';
import type { StreamGuard } from './stream-guard.ts';

/**
 * The events that the guard releases. Leaving the loop early, a denial and an error end the upstream.
 * When it is over, `guard.outcome` holds the results for the last event.
 * @throws GatewayError guardrail_denied (446) when a hook with deny failed; what the stream or the signal throws
 */
export async function* guardEvents<E>(
  events: AsyncIterable<E>,
  guard: StreamGuard<E>,
): AsyncGenerator<E, void> {
  const source = events[Symbol.asyncIterator]();
  let over = false;
  try {
    let next = source.next();
    for (;;) {
      const item = await nextOrDue(next, guard.dueMs).catch((error: unknown) => ({ error }));
      if (item !== undefined && 'error' in item) {
        // What had come before the stream broke belongs to the caller, once it is checked.
        yield* await guard.flush();
        throw guard.outcome?.decision === 'deny' ? denied() : item.error;
      }
      if (item !== undefined && item.done === true) break;
      yield* item === undefined ? await guard.flush() : await guard.push(item.value);
      if (guard.outcome?.decision === 'deny') throw denied();
      if (item !== undefined) next = source.next();
    }
    over = true;
    yield* await guard.end();
    if (guard.outcome?.decision === 'deny') throw denied();
  } finally {
    // Not waited for: a stream may end its own work only after the read that is under way.
    if (!over) source.return?.().catch(() => {});
  }
}

/** The next event, or undefined when time is up before it. */
async function nextOrDue<E>(
  next: Promise<IteratorResult<E>>,
  dueMs: number | undefined,
): Promise<IteratorResult<E> | undefined> {
  if (dueMs === undefined) return next;
  let timer: NodeJS.Timeout | undefined;
  const due = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), dueMs);
  });
  try {
    return await Promise.race([next, due]);
  } finally {
    clearTimeout(timer);
  }
}
