// Reads server-sent events, and those that repeat the event before them with another text as runs: they are compared with
// that event and not parsed, which is a tenth of the work.
import { isUtf8 } from 'node:buffer';
import type { Run } from '../lib/runs.ts';
import { SseParser } from '../lib/sse.ts';
import type { StreamTranslator } from './dialect.ts';
import { Matcher } from './matcher.ts';
import type { Repeat } from './repeat.ts';

const BLANK = '\n\n';
/** Events in a row that could be repeated, and are not: further ones are not compared. */
const MOST_MISSES = 8;

/** What further events are compared with. */
interface Known<Chunk> {
  readonly repeat: Repeat<Chunk>;
  readonly matcher: Matcher;
}

/** Reads the events of one answer, in the place of its parser. */
export class EventRuns<Chunk> {
  readonly #translator: StreamTranslator<Chunk>;
  readonly #parser = new SseParser();
  readonly #take: (chunks: readonly (Chunk | Run<Chunk>)[]) => void;
  #known: Known<Chunk> | undefined;
  #misses = 0;

  /** @param take is given what the events add, as far as they came before one that throws */
  constructor(translator: StreamTranslator<Chunk>, take: (chunks: readonly (Chunk | Run<Chunk>)[]) => void) {
    this.#translator = translator;
    this.#take = take;
  }

  /** @param bytes not changed afterwards @throws GatewayError what the parser and the translator throw */
  push(bytes: Uint8Array): void {
    const piece = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    let from = 0;
    // An event that was cut, and one to compare others with.
    while (!this.#parser.idle || (this.#known === undefined && this.#misses < MOST_MISSES)) {
      const end = piece.indexOf(BLANK, from);
      if (end === -1) break;
      this.#parse(piece.subarray(from, end + 2));
      from = end + 2;
      if (this.#translator.done) return;
      this.#learn();
    }
    const end = this.#known === undefined || !this.#parser.idle ? -1 : piece.lastIndexOf(BLANK);
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
    this.#known = undefined;
    this.#take(this.#translator.push(event));
  }

  #learn(): void {
    const repeat = this.#parser.idle ? this.#translator.repeat?.() : undefined;
    this.#known = repeat && { repeat, matcher: new Matcher(repeat.pattern) };
  }

  /** Reads whole events; whether they are UTF-8. */
  #compare(bytes: Buffer): boolean {
    if (!isUtf8(bytes)) return false;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    let at = 0;
    while (at < bytes.length && !this.#translator.done) {
      const known = this.#known;
      const match = known?.matcher.find(bytes, view, at);
      if (known !== undefined && match !== undefined) {
        this.#take([known.repeat.run(match.found)]);
        this.#misses = 0;
        at = match.end;
      } else if (known !== undefined) this.#misses++;
      if (at === bytes.length) break;
      // Another event: read as all are, and compared with from then on.
      const goesOn = this.#misses < MOST_MISSES;
      const end = goesOn ? bytes.indexOf(BLANK, at) + BLANK.length : bytes.length;
      this.#parse(bytes.subarray(at, end));
      at = end;
      if (!goesOn) this.#known = undefined;
      else if (!this.#translator.done) this.#learn();
    }
    return true;
  }
}
