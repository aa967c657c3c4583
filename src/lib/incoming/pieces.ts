// Pieces of a body as they come off a socket, collected without keeping an object for each of them.

import { nextTurn } from '../../lib/time-slices.ts';

/** Bytes that a piece's object takes in addition to its content. */
export const PIECE_OVERHEAD = 128;
/** Shorter pieces are copied into blocks; longer ones are kept as they are. */
const SHORT = 4096;
const FIRST_BLOCK = 4096;
const LAST_BLOCK = 65_536;
/** Bytes that are put together in one turn of the event loop: fresh memory costs more than the copy. */
const TURN_BYTES = 2_097_152;

/** Collects pieces. A body of one piece is handed on as it came, without a copy. */
export class Pieces {
  #pieces: Buffer[] = [];
  #block: Buffer | undefined;
  #used = 0;
  #bytes = 0;
  readonly #copies: boolean;

  /** @param copies whether the pieces' memory is used again by who gives them */
  constructor(copies = false) {
    this.#copies = copies;
  }

  /** Bytes of all pieces. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Bytes of memory that are held for them, about. */
  get held(): number {
    const objects = this.#pieces.length + (this.#block === undefined ? 0 : 1);
    return this.#bytes + objects * PIECE_OVERHEAD;
  }

  /** Whether they are put together in one turn of the event loop. */
  get isShort(): boolean {
    return this.#bytes <= TURN_BYTES;
  }

  push(piece: Uint8Array): void {
    this.#bytes += piece.length;
    const bytes = Buffer.isBuffer(piece)
      ? piece
      : Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    if (this.#block === undefined && (this.#pieces.length === 0 || bytes.length >= SHORT)) {
      this.#keep(bytes);
      return;
    }
    // An open block is filled to its end, so that short and long pieces by turns leave no gaps.
    let from = this.#fill(bytes, 0);
    if (bytes.length - from >= SHORT) {
      this.#keep(bytes.subarray(from));
      return;
    }
    while (from < bytes.length) from = this.#fill(bytes, from);
  }

  /** All bytes; afterwards it is empty. */
  take(): Buffer {
    const bytes = this.#bytes;
    const pieces = this.#takePieces();
    return pieces.length === 1 ? pieces[0]! : Buffer.concat(pieces, bytes);
  }

  /** The same, in several turns of the event loop when they are many bytes. */
  async takeInTurns(): Promise<Buffer> {
    const bytes = this.#bytes;
    const pieces = this.#takePieces();
    return pieces.length === 1 ? pieces[0]! : joinedInTurns(pieces, bytes);
  }

  /** The first bytes, at most so many; nothing is taken. */
  start(bytes: number): Buffer {
    const begin: Buffer[] = [];
    let left = bytes;
    for (const piece of this.#pieces) {
      if (left <= 0) break;
      begin.push(piece.subarray(0, left));
      left -= piece.length;
    }
    if (left > 0 && this.#block !== undefined)
      begin.push(this.#block.subarray(0, Math.min(left, this.#used)));
    return Buffer.concat(begin);
  }

  #takePieces(): Buffer[] {
    if (this.#block !== undefined) this.#pieces.push(this.#block.subarray(0, this.#used));
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#block = undefined;
    this.#used = 0;
    this.#bytes = 0;
    return pieces;
  }

  /** The first bytes, without a copy: a long piece, or short ones joined. It must not be empty. */
  shift(): Buffer {
    const piece = this.#pieces.shift() ?? this.#block!.subarray(0, this.#used);
    if (piece.buffer === this.#block?.buffer) {
      this.#block = undefined;
      this.#used = 0;
    }
    this.#bytes -= piece.length;
    return piece;
  }

  #keep(bytes: Buffer): void {
    this.#pieces.push(this.#copies ? Buffer.from(bytes) : bytes);
  }

  /** Copies into the block what fits. @returns the index of the first byte that was not copied */
  #fill(bytes: Buffer, from: number): number {
    if (this.#block === undefined) {
      if (bytes.length - from >= SHORT) return from;
      this.#block = Buffer.allocUnsafeSlow(Math.min(LAST_BLOCK, Math.max(FIRST_BLOCK, this.#bytes)));
      this.#used = 0;
    }
    const copied = bytes.copy(this.#block, this.#used, from);
    this.#used += copied;
    if (this.#used === this.#block.length) {
      this.#pieces.push(this.#block);
      this.#block = undefined;
    }
    return from + copied;
  }
}

/** Pieces put together, in several turns of the event loop when they are many bytes. @param bytes of all pieces */
export async function joinedInTurns(pieces: readonly Buffer[], bytes: number): Promise<Buffer> {
  if (bytes <= TURN_BYTES) return Buffer.concat(pieces, bytes);
  const whole = Buffer.allocUnsafeSlow(bytes);
  let at = 0;
  let pause = TURN_BYTES;
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += TURN_BYTES) {
      at += piece.copy(whole, at, from, from + TURN_BYTES);
      if (at < pause) continue;
      pause = at + TURN_BYTES;
      await nextTurn();
    }
  }
  return whole;
}
