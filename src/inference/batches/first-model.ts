// The model of a batch's first row, read while the file passes to a provider.
import { objectOf, parsedObject, textOf } from '../../providers/json-object.ts';

/** Of the first row that is kept until it ends, in bytes; the model of a longer one is not known. */
const MAX_ROW = 256 * 1024;
const LINE_FEED = 10;

/** Listens to one file. */
export class FirstModel {
  #begin: Uint8Array[] = [];
  #bytes = 0;
  #over = false;
  #model: string | undefined;

  /** The pieces, unchanged. */
  async *hear(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    for await (const piece of pieces) {
      if (!this.#over) this.#take(piece);
      yield piece;
    }
  }

  /** Undefined: not known. */
  get model(): string | undefined {
    if (!this.#over) this.#read();
    return this.#model;
  }

  #take(piece: Uint8Array): void {
    const end = piece.indexOf(LINE_FEED);
    // Copied: a piece may be a view of memory that is used again.
    this.#begin.push(Buffer.from(end === -1 ? piece : piece.subarray(0, end)));
    this.#bytes += end === -1 ? piece.length : end;
    if (end !== -1 && this.#bytes > 0) this.#read();
    else if (this.#bytes > MAX_ROW) this.#over = true;
  }

  #read(): void {
    this.#over = true;
    const text = Buffer.concat(this.#begin)
      .toString('utf8')
      .replace(/^\uFEFF/, '');
    this.#model = textOf(objectOf(parsedObject(text)?.body)?.model);
    this.#begin = [];
  }
}
