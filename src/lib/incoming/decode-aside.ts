// Compressed bodies, decoded aside: what passes through stays as it is, and what it says is read from a copy.
import { pipeline, type Transform } from 'node:stream';
import { decodersOf } from './decoded-length.ts';
import { joinedInTurns } from './pieces.ts';

/** Decodes a body that passes in pieces. It never fails: what cannot be decoded ends it. */
export class AsideDecoder {
  readonly #first: Transform;
  readonly #ended: Promise<void>;
  #over = false;

  private constructor(decoders: readonly Transform[], most: number, take: (bytes: Uint8Array) => void) {
    this.#first = decoders[0]!;
    const last = decoders.at(-1)!;
    let bytes = 0;
    this.#ended = new Promise((resolve) => {
      const end = (): void => {
        this.#over = true;
        resolve();
      };
      last.on('data', (piece: Uint8Array) => {
        bytes += piece.length;
        if (bytes > most) this.stop();
        else take(piece);
      });
      last.on('end', end).on('close', end).on('error', end);
      if (decoders.length > 1) pipeline([...decoders], () => end());
      else this.#first.on('error', end);
    });
  }

  /**
   * @param most decoded bytes, at which it stops @param take is given them
   * @returns undefined: one of the codings is not known
   */
  static of(
    codings: readonly string[],
    most: number,
    take: (bytes: Uint8Array) => void,
  ): AsideDecoder | undefined {
    const decoders = codings.length === 0 ? undefined : decodersOf(codings);
    return decoders && new AsideDecoder(decoders, most, take);
  }

  /** Takes a piece. A promise: the next one should wait for it. */
  push(piece: Uint8Array): Promise<void> | undefined {
    if (this.#over || this.#first.write(Buffer.from(piece))) return undefined;
    const room = new Promise<void>((resolve) => void this.#first.once('drain', resolve));
    return Promise.race([room, this.#ended]);
  }

  /** Resolves when everything was given. */
  async end(): Promise<void> {
    if (!this.#over) this.#first.end();
    await this.#ended;
    this.stop();
  }

  /** Gives nothing more. */
  stop(): void {
    this.#over = true;
    this.#first.destroy();
  }
}

/** A whole body, decoded; undefined when it cannot be, or is longer than `most` bytes. */
export async function decodedAside(
  body: Uint8Array,
  codings: readonly string[],
  most: number,
): Promise<Buffer | undefined> {
  const pieces: Buffer[] = [];
  const decoders = decodersOf(codings);
  if (decoders === undefined) return undefined;
  let bytes = 0;
  try {
    const last = decoders.reduce((from, to) => pipeline(from, to, () => {}));
    decoders[0]!.end(body);
    for await (const piece of last as AsyncIterable<Buffer>) {
      bytes += piece.length;
      if (bytes > most) return undefined;
      pieces.push(piece);
    }
  } catch {
    return undefined;
  } finally {
    for (const decoder of decoders) decoder.destroy();
  }
  return joinedInTurns(pieces, bytes);
}
