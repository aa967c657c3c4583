// `reasoning_details` (OpenRouter, MiniMax): what was thought, with the proofs of it, for the way back. In a stream the texts
// come in pieces.
import type { JsonObject, JsonValue } from '@bufbuild/protobuf';
import { arrayOf, isObject } from '../json-object.ts';

/** Of one answer. */
const MOST = 4096;

/** Puts the pieces of one answer together. */
export class ReasoningDetails {
  #details: JsonObject[] = [];

  get isEmpty(): boolean {
    return this.#details.length === 0;
  }

  /** @param pieces those of a message or of a piece of one */
  push(pieces: JsonValue | undefined): void {
    if (!Array.isArray(pieces)) return;
    for (const piece of arrayOf(pieces).filter(isObject)) {
      const last = this.#details.at(-1);
      if (last !== undefined && goesOn(last, piece))
        this.#details[this.#details.length - 1] = joined(last, piece);
      else if (this.#details.length < MOST) this.#details.push(piece);
    }
  }

  /** What there is, in its order; from then on there is none. */
  take(): readonly JsonObject[] {
    const details = this.#details;
    this.#details = [];
    return details;
  }
}

/** What is encrypted comes whole. */
function goesOn(last: JsonObject, piece: JsonObject): boolean {
  return piece.type === last.type && piece.index === last.index && piece.data === undefined;
}

function joined(last: JsonObject, piece: JsonObject): JsonObject {
  const both: JsonObject = { ...last };
  for (const [name, value] of Object.entries(piece)) {
    const before = last[name];
    const isText = name === 'text' || name === 'summary';
    if (isText && typeof before === 'string' && typeof value === 'string') both[name] = before + value;
    else if (value !== null && value !== undefined) both[name] = value;
  }
  return both;
}
