// A stream on its way to the caller, listened to. Only one that came to its end is kept: not one that broke, was
// left, or is over the bound.
import type { StreamForm } from './form.ts';

/** What becomes of a recording; called once. */
export interface RecordingEnd {
  kept(pieces: readonly (string | Uint8Array)[]): void;
  /** The answer broke off, its caller left, or it may not be cached. */
  broken(): void;
  /** It is too long to be kept; the stream goes on. */
  tooLong(): void;
}

/** The same pieces, recorded. */
export function record<Chunk>(
  stream: AsyncIterable<Chunk>,
  form: StreamForm<Chunk>,
  maxBytes: number,
  end: RecordingEnd,
): AsyncIterable<Chunk> {
  return new Recording(stream[Symbol.asyncIterator](), form, maxBytes, end);
}

class Recording<Chunk> implements AsyncIterable<Chunk>, AsyncIterator<Chunk> {
  readonly #source: AsyncIterator<Chunk>;
  readonly #form: StreamForm<Chunk>;
  readonly #maxBytes: number;
  /** Undefined once it is over. */
  #end: RecordingEnd | undefined;
  #pieces: (string | Uint8Array)[] = [];
  #bytes = 0;

  constructor(source: AsyncIterator<Chunk>, form: StreamForm<Chunk>, maxBytes: number, end: RecordingEnd) {
    this.#source = source;
    this.#form = form;
    this.#maxBytes = maxBytes;
    this.#end = end;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Chunk, undefined>> {
    let step: IteratorResult<Chunk, undefined>;
    try {
      step = await this.#source.next();
    } catch (error) {
      this.#over((end) => end.broken());
      throw error;
    }
    if (step.done) {
      const keeps = this.#form.keeps?.() !== false;
      this.#over((end, pieces) => (keeps && pieces.length > 0 ? end.kept(pieces) : end.broken()));
    } else if (this.#end !== undefined) this.#take(step.value);
    return step;
  }

  async return(): Promise<IteratorResult<Chunk, undefined>> {
    this.#over((end) => end.broken());
    await this.#source.return?.();
    return { done: true, value: undefined };
  }

  #take(chunk: Chunk): void {
    let piece: string | Uint8Array;
    try {
      piece = this.#form.encode(chunk);
    } catch {
      // What cannot be written cannot be kept; the caller gets it all the same.
      this.#over((end) => end.tooLong());
      return;
    }
    this.#bytes += Buffer.byteLength(piece);
    if (this.#bytes > this.#maxBytes) this.#over((end) => end.tooLong());
    else this.#pieces.push(piece);
  }

  #over(tell: (end: RecordingEnd, pieces: readonly (string | Uint8Array)[]) => void): void {
    const [end, pieces] = [this.#end, this.#pieces];
    this.#end = undefined;
    this.#pieces = [];
    if (end !== undefined) tell(end, pieces);
  }
}
