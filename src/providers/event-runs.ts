// Reads server-sent events, and those that repeat the event before them with another text as runs: they are compared with
// that event and not parsed, which is a tenth of the work.
import { isAscii, isUtf8 } from 'node:buffer';
import type { Run } from '../lib/runs.ts';
import { SseParser } from '../lib/sse.ts';
import type { StreamTranslator } from './dialect.ts';
import type { Pattern, Repeat } from './repeat.ts';

const BLANK = '\n\n';
/** What must be read as JSON: escapes, and what may not stand in a string. */
const NOT_PLAIN = /[^\x20-\x5b\x5d-\uffff]/;
/** The same, and the end of a string. */
const NOT_TEXT = /[^\x20\x21\x23-\x5b\x5d-\uffff]/;
/** Texts that are cut out at once: where they do not follow each other, the rest is cut again. */
const MOST_PARTS = 256;
/** Events in a row that could be repeated, and are not: further ones are not compared. */
const MOST_MISSES = 8;

/** Reads the events of one answer, in the place of its parser. */
export class EventRuns<Chunk> {
  readonly #translator: StreamTranslator<Chunk>;
  readonly #parser = new SseParser();
  readonly #take: (chunks: readonly (Chunk | Run<Chunk>)[]) => void;
  #repeat: Repeat<Chunk> | undefined;
  #misses = 0;

  /** @param take is given what the events add, as far as they came before one that throws */
  constructor(translator: StreamTranslator<Chunk>, take: (chunks: readonly (Chunk | Run<Chunk>)[]) => void) {
    this.#translator = translator;
    this.#take = take;
  }

  /** @throws GatewayError what the parser and the translator throw */
  push(bytes: Uint8Array): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = 0;
    // An event that was cut, and one to compare others with.
    while (!this.#parser.idle || (this.#repeat === undefined && this.#misses < MOST_MISSES)) {
      const end = piece.indexOf(BLANK, from);
      if (end === -1) break;
      this.#parse(piece.subarray(from, end + 2));
      from = end + 2;
      if (this.#translator.done) return;
      this.#learn();
    }
    const end = this.#repeat === undefined || !this.#parser.idle ? -1 : piece.lastIndexOf(BLANK);
    if (end >= from && this.#compare(piece.subarray(from, end + 2))) from = end + 2;
    if (from < piece.length && !this.#translator.done) this.#parse(piece.subarray(from));
  }

  /** The bytes have ended. @throws GatewayError what the parser and the translator throw */
  end(): void {
    for (const event of this.#parser.end()) this.#event(event);
  }

  #parse(bytes: Buffer): void {
    for (const event of this.#parser.push(bytes)) {
      this.#event(event);
      if (this.#translator.done) break;
    }
  }

  #event(event: ReturnType<SseParser['push']>[number]): void {
    // It holds until the next event that is pushed.
    this.#repeat = undefined;
    this.#take(this.#translator.push(event));
  }

  #learn(): void {
    this.#repeat = this.#parser.idle ? this.#translator.repeat?.() : undefined;
  }

  /** Reads whole events; whether they are UTF-8. */
  #compare(bytes: Buffer): boolean {
    const ascii = isAscii(bytes);
    if (!ascii && !isUtf8(bytes)) return false;
    const lines = bytes.toString(ascii ? 'latin1' : 'utf8');
    let at = 0;
    while (at < lines.length && !this.#translator.done) {
      const repeat = this.#repeat;
      const texts: string[] = [];
      const fillings: string[] = [];
      const next = repeat === undefined ? at : matched(lines, at, repeat.pattern, texts, fillings);
      if (repeat !== undefined && texts.length > 0) {
        this.#take([repeat.run(texts, lines.slice(at, next), fillings)]);
        this.#misses = 0;
      } else if (repeat !== undefined) this.#misses++;
      at = next;
      if (at === lines.length) break;
      // Another event: read as all are, and compared with from then on.
      const goesOn = this.#misses < MOST_MISSES;
      const end = goesOn ? lines.indexOf(BLANK, at) + 2 : lines.length;
      this.#parse(Buffer.from(lines.slice(at, end)));
      at = end;
      if (!goesOn) this.#repeat = undefined;
      else if (!this.#translator.done) this.#learn();
    }
    return true;
  }
}

/** Where the events end that have the pattern. @param texts is given theirs @param fillings their second ones */
function matched(lines: string, from: number, pattern: Pattern, texts: string[], fillings: string[]): number {
  const { before, after, end } = pattern;
  return end === undefined
    ? matchedTexts(lines, from, `data: ${before}`, after + BLANK, texts)
    : matchedPairs(lines, from, pattern, end, texts, fillings);
}

/** What stands between two texts is looked for in one go: it is far quicker than a comparison for each event. */
function matchedTexts(lines: string, from: number, lead: string, tail: string, texts: string[]): number {
  const around = lead.length + tail.length;
  let at = from;
  while (lines.startsWith(lead, at)) {
    const parts = lines.slice(at + lead.length).split(tail + lead, MOST_PARTS);
    // The last one has more than a text in it.
    const last = parts.length < MOST_PARTS ? parts.pop()! : undefined;
    const plain = plainOf(parts);
    texts.push(...plain);
    at += plain.length * around;
    for (const text of plain) at += text.length;
    const part = plain.length < parts.length ? parts[plain.length]! : last;
    if (part === undefined) continue;
    // One that is followed by another event.
    const text = part.slice(0, Math.max(0, part.indexOf('"')));
    if (text === '' || NOT_PLAIN.test(text) || !part.startsWith(tail, text.length)) return at;
    texts.push(text);
    return at + text.length + around;
  }
  return at;
}

/** The texts up to the first that must be read as JSON, or has more than a text in it. */
function plainOf(parts: string[]): string[] {
  if (!NOT_TEXT.test(parts.join('')) && !parts.includes('')) return parts;
  return parts.slice(
    0,
    parts.findIndex((part) => part === '' || NOT_TEXT.test(part)),
  );
}

function matchedPairs(
  lines: string,
  from: number,
  { before, after }: Pattern,
  end: string,
  texts: string[],
  fillings: string[],
): number {
  const lead = `data: ${before}`;
  let at = from;
  while (lines.startsWith(lead, at)) {
    const begin = at + lead.length;
    const quote = lines.indexOf('"', begin);
    if (quote <= begin || !lines.startsWith(after, quote)) break;
    const next = quote + after.length;
    const close = lines.indexOf('"', next);
    const [text, filling] = [lines.slice(begin, quote), lines.slice(next, close)];
    if (close === -1 || NOT_PLAIN.test(text) || NOT_PLAIN.test(filling)) break;
    if (!lines.startsWith(end + BLANK, close)) break;
    fillings.push(filling);
    texts.push(text);
    at = close + end.length + BLANK.length;
  }
  return at;
}
