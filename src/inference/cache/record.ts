// What is kept of an answer, as bytes: a short head and then the answer's own text, whole or in pieces, untouched.

import type { UsageRecord } from '../../call/record.ts';

/** A kept answer. Its texts are views of the record's bytes: not to be changed. */
export type AnswerRecord =
  | { readonly form: 'whole'; readonly note: AnswerNote; readonly body: Uint8Array }
  | { readonly form: 'stream'; readonly note: AnswerNote; readonly chunks: readonly Uint8Array[] };

/** What the log records about an answer that no provider charged. */
export interface AnswerNote {
  /** The model that the provider said answered. */
  readonly model?: string;
  /** The usage of the answer: a hit saves it. */
  readonly usage?: UsageRecord;
}

interface Head {
  readonly v: 1;
  readonly f: 'w' | 's';
  readonly n: AnswerNote;
  /** Bytes of each piece. */
  readonly l: readonly number[];
}

/** A record as bytes of its own: no other buffer is kept alive by it. */
export function encodeRecord(
  form: AnswerRecord['form'],
  note: AnswerNote,
  pieces: readonly (string | Uint8Array)[],
): Uint8Array {
  const lengths = pieces.map((piece) => Buffer.byteLength(piece));
  const head = JSON.stringify({ v: 1, f: form === 'whole' ? 'w' : 's', n: note, l: lengths } satisfies Head);
  const headBytes = Buffer.byteLength(head);
  const total = lengths.reduce((sum, length) => sum + length, 4 + headBytes);
  const bytes = Buffer.allocUnsafeSlow(total);
  bytes.writeUInt32BE(headBytes, 0);
  bytes.write(head, 4);
  let at = 4 + headBytes;
  pieces.forEach((piece, i) => {
    if (typeof piece === 'string') bytes.write(piece, at);
    else bytes.set(piece, at);
    at += lengths[i]!;
  });
  return bytes;
}

/** Reads a record; undefined for bytes that are none, or of another version. */
export function decodeRecord(bytes: Uint8Array): AnswerRecord | undefined {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer.length < 4) return undefined;
  let at = 4 + buffer.readUInt32BE(0);
  const head = at <= buffer.length ? headOf(buffer.toString('utf8', 4, at)) : undefined;
  if (head === undefined) return undefined;
  const pieces: Uint8Array[] = [];
  for (const length of head.l) {
    pieces.push(buffer.subarray(at, at + length));
    at += length;
  }
  if (at !== buffer.length) return undefined;
  if (head.f === 's') return { form: 'stream', note: head.n, chunks: pieces };
  return pieces.length === 1 ? { form: 'whole', note: head.n, body: pieces[0]! } : undefined;
}

function headOf(text: string): Head | undefined {
  let head: Partial<Head>;
  try {
    head = JSON.parse(text) as Partial<Head>;
  } catch {
    return undefined;
  }
  const fits =
    head?.v === 1 &&
    (head.f === 'w' || head.f === 's') &&
    typeof head.n === 'object' &&
    head.n !== null &&
    Array.isArray(head.l) &&
    head.l.every((length) => Number.isSafeInteger(length) && length >= 0);
  return fits ? (head as Head) : undefined;
}
