// Long JSON written in slices of the event loop: the same text as JSON.stringify, piece by piece.
import { nextSlice } from './time-slices.ts';

/** What is written at once, in characters and 16 for each value: less than a millisecond of work. */
const PIECE = 131_072;
const VALUE = 16;

/**
 * JSON of a plain value: objects, lists, texts, numbers, booleans and null. Short JSON is a text, long JSON its bytes in
 * UTF-8.
 */
export async function jsonInSlices(value: unknown): Promise<string | Uint8Array> {
  return isLongerThan(value, PIECE) ? Buffer.concat(await jsonPieces(value)) : JSON.stringify(value);
}

/** The same as bytes in pieces. */
export async function jsonPieces(value: unknown): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let text = '';
  for (const piece of piecesOf(value)) {
    text += piece;
    if (text.length >= PIECE) {
      pieces.push(Buffer.from(text));
      text = '';
    }
    const next = nextSlice();
    if (next !== undefined) await next;
  }
  pieces.push(Buffer.from(text));
  return pieces;
}

/** Whether a value weighs so much when it is written: its characters, and 16 for each value. */
export function isLongerThan(value: unknown, weight: number): boolean {
  return weightOf(value, weight) >= weight;
}

function* piecesOf(value: unknown): Generator<string, void> {
  if (typeof value !== 'object' || value === null || !isLongerThan(value, PIECE)) {
    yield JSON.stringify(value) ?? 'null';
    return;
  }
  if (Array.isArray(value)) {
    yield* listPieces(value);
    return;
  }
  let before = '{';
  for (const name of Object.keys(value)) {
    const member: unknown = (value as Record<string, unknown>)[name];
    if (member === undefined) continue;
    yield `${before}${JSON.stringify(name)}:`;
    before = ',';
    yield* piecesOf(member);
  }
  yield before === '{' ? '{}' : '}';
}

function* listPieces(list: readonly unknown[]): Generator<string, void> {
  let before = '[';
  for (const item of list) {
    yield before;
    before = ',';
    yield* piecesOf(item);
  }
  yield before === '[' ? '[]' : ']';
}

/** How much there is to write, counted no further than to `most`. */
export function weightOf(value: unknown, most: number): number {
  if (typeof value === 'string') return value.length + VALUE;
  if (typeof value !== 'object' || value === null) return VALUE;
  if (ArrayBuffer.isView(value)) return value.byteLength + VALUE;
  let weight = VALUE;
  if (Array.isArray(value)) {
    for (const item of value) {
      weight += weightOf(item, most - weight);
      if (weight >= most) return weight;
    }
    return weight;
  }
  for (const name in value) {
    weight += name.length + weightOf((value as Record<string, unknown>)[name], most - weight);
    if (weight >= most) return weight;
  }
  return weight;
}
