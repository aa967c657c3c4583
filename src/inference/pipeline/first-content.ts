// How far a stream must have come before its caller is given any of it: until then it can still be another one.
import type { PieceForm } from './pieces/piece-form.ts';

/** Most events without content that are read before the answer begins. */
const MOST_WAITING = 16;

/** Resolves when an event with content (or the stream's end) has come, with all events from the first on. @throws what the stream throws before */
export async function untilContent(
  events: AsyncIterable<object>,
  { hasContent }: Pick<PieceForm, 'hasContent'>,
): Promise<AsyncIterable<object>> {
  const rest = events[Symbol.asyncIterator]();
  const come: IteratorResult<object, unknown>[] = [];
  for (;;) {
    const result = await rest.next();
    come.push(result);
    if (result.done || hasContent(result.value) || come.length >= MOST_WAITING) break;
  }
  return startingWith(come, rest);
}

/** Results that were taken already, then the rest. Not a generator: leaving before the first read must end it too. */
function startingWith(
  come: IteratorResult<object, unknown>[],
  rest: AsyncIterator<object, unknown>,
): AsyncIterable<object> {
  let at = 0;
  const iterator: AsyncIterableIterator<object, unknown> = {
    [Symbol.asyncIterator]: () => iterator,
    next: () => (at < come.length ? Promise.resolve(come[at++]!) : rest.next()),
    async return() {
      at = come.length;
      await rest.return?.();
      return { done: true, value: undefined };
    },
  };
  return iterator;
}
