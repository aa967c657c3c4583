// Long JSON written in slices of the event loop: the same text as JSON.stringify, piece by piece.
import { nextSlice } from './time-slices.ts';

/** What is written at once, in characters and 16 for each value: less than a millisecond of work. */
const PIECE = 131_072;
const VALUE = 16;

/** JSON that is sent, and too long to be written in one turn. */
export class UnwrittenJson {
  readonly value: unknown;

  constructor(value: unknown) {
    this.value = value;
  }
}

/** JSON of a plain value: its text, or the value where its text is long. */
export function jsonBody(value: unknown): string | UnwrittenJson {
  return isLongerThan(value, PIECE) ? new UnwrittenJson(value) : JSON.stringify(value);
}

/**
 * JSON of a plain value: objects, lists, texts, numbers, booleans and null. Short JSON is a text, long JSON its bytes in
 * UTF-8.
 */
export async function jsonInSlices(value: unknown): Promise<string | Uint8Array> {
  return isLongerThan(value, PIECE) ? Buffer.concat(await jsonPieces(value)) : JSON.stringify(value);
}

/** The same as a text. */
export async function jsonTextInSlices(value: unknown): Promise<string> {
  if (!isLongerThan(value, PIECE)) return JSON.stringify(value);
  let text = '';
  for (const piece of piecesOf(value)) {
    text += piece;
    const next = nextSlice();
    if (next !== undefined) await next;
  }
  return text;
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
  if (typeof value === 'string' && value.length > PIECE) {
    yield* textPieces(value);
    return;
  }
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

function* textPieces(text: string): Generator<string, void> {
  yield '"';
  for (let at = 0; at < text.length; ) {
    const end = at + PIECE;
    // The halves of a pair stay together: apart they would be written as escapes.
    const to = isFirstHalf(text.charCodeAt(end - 1)) ? end + 1 : end;
    yield JSON.stringify(text.slice(at, to)).slice(1, -1);
    at = to;
  }
  yield '"';
}

function isFirstHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdbff;
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

/** Whether the names and texts alone are more characters than that. */
export function hasMoreTextThan(value: unknown, characters: number): boolean {
  return weightOf(value, characters + 1, 0) > characters;
}

/** How much there is to write, counted no further than to `most`. @param each for each value beside its characters */
export function weightOf(value: unknown, most: number, each = VALUE): number {
  if (typeof value === 'string') return value.length + each;
  if (typeof value !== 'object' || value === null) return each;
  if (ArrayBuffer.isView(value)) return value.byteLength + each;
  let weight = each;
  if (Array.isArray(value)) {
    for (const item of value) {
      weight += weightOf(item, most - weight, each);
      if (weight >= most) return weight;
    }
    return weight;
  }
  for (const name in value) {
    weight += name.length + weightOf((value as Record<string, unknown>)[name], most - weight, each);
    if (weight >= most) return weight;
  }
  return weight;
}
