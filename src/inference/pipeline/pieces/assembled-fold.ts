// A streamed answer put together by the fold of its form: for the log.
import type { JsonObject } from '@bufbuild/protobuf';
import type { Assembled } from './piece-form.ts';

/** Text that is kept of one answer, in UTF-16 units. */
const MAX_TEXT = 1024 * 1024;

/** Takes the events of one answer. */
interface Fold {
  push(event: JsonObject): void;
}

/** One answer. */
export class AssembledFold<F extends Fold> implements Assembled {
  readonly #fold: F;
  readonly #read: (piece: object) => JsonObject;
  readonly #whole: (fold: F) => JsonObject;
  readonly #size: (event: JsonObject) => number;
  held = 0;
  /** What came later shows in the length of the JSON. */
  readonly left = 0;

  /** @param read an event's JSON @param whole the answer so far @param size about how much text an event adds */
  constructor(
    fold: F,
    read: (piece: object) => JsonObject,
    whole: (fold: F) => JsonObject,
    size: (event: JsonObject) => number = ({ delta }) => sizeOf(delta),
  ) {
    this.#fold = fold;
    this.#read = read;
    this.#whole = whole;
    this.#size = size;
  }

  push(piece: object): void {
    if (this.held > MAX_TEXT) return;
    const event = this.#read(piece);
    this.held += this.#size(event);
    this.#fold.push(event);
  }

  json(): string {
    return JSON.stringify(this.#whole(this.#fold));
  }
}

function sizeOf(delta: unknown): number {
  if (typeof delta === 'string') return delta.length;
  if (typeof delta !== 'object' || delta === null) return 16;
  let size = 0;
  for (const value of Object.values(delta)) if (typeof value === 'string') size += value.length;
  return size;
}
