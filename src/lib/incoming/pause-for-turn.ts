// Bodies in thousands of tiny pieces do not hold the event loop: each turn reads on from one of them.
import type { Readable } from 'node:stream';

/** Pieces of one body that are read before other bodies are served. */
export const PIECES_OF_A_TURN = 1024;

const waiting: (() => void)[] = [];

/** Calls back in a later turn of the event loop, in which it is the only one. */
export function inItsTurn(goOn: () => void): void {
  waiting.push(goOn);
  if (waiting.length === 1) setImmediate(next);
}

function next(): void {
  waiting[0]?.();
  waiting.shift();
  if (waiting.length > 0) setImmediate(next);
}

/** Lets others run after so many pieces. @param count of pieces so far */
export function pauseForTurn(body: Readable, count: number): void {
  if (count % PIECES_OF_A_TURN !== 0 || body.isPaused()) return;
  body.pause();
  inItsTurn(() => {
    if (!body.destroyed) body.resume();
  });
}
