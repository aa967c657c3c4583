// How answers of an operation become texts that are kept, and back.
import type { AnswerRecord } from './record.ts';

/** Answers that come whole. */
export interface WholeForm<Answer> {
  /** The answer's JSON text. */
  readonly encode: (answer: Answer) => string | Uint8Array;
  /** A fresh message with the text attached. */
  readonly decode: (body: Uint8Array) => Answer;
  /** Whether a good answer is worth keeping; yes when absent. */
  readonly keeps?: (answer: Answer) => boolean;
}

/** Answers that come in pieces. */
export interface StreamForm<Chunk> {
  readonly encode: (chunk: Chunk) => string | Uint8Array;
  readonly decode: (chunk: Uint8Array) => Chunk;
  /** A whole answer's pieces, so that a stream finds what was kept whole. Absent: it does not. */
  readonly fromWhole?: (body: Uint8Array) => readonly Chunk[];
  /** Whether the caller asked for the usage as the last piece: such a stream is another one. */
  readonly usage: boolean;
  /** Whether the stream is worth keeping, asked once it came to its end; yes when absent. */
  readonly keeps?: () => boolean;
}

/** What an answer's key ends with, for each form that it may be kept in. */
export const SUFFIXES = [':whole', ':stream', ':stream:usage'] as const;
export type Suffix = (typeof SUFFIXES)[number];

/** Where a caller's answer may be kept, its own form first. */
export function suffixesOf<Part>(form: WholeForm<Part> | StreamForm<Part>): readonly [Suffix, ...Suffix[]] {
  if (!('usage' in form)) return [':whole'];
  const own = form.usage ? ':stream:usage' : ':stream';
  return form.fromWhole ? [own, ':whole'] : [own];
}

/** A kept answer as the caller's whole answer; undefined when it cannot be one. */
export function wholeOf<Answer>(form: WholeForm<Answer>, record: AnswerRecord): Answer | undefined {
  return record.form === 'whole' ? form.decode(record.body) : undefined;
}

/** A kept answer as the caller's stream, every piece read when its turn comes. */
export function streamOf<Chunk>(
  form: StreamForm<Chunk>,
  record: AnswerRecord,
): AsyncIterable<Chunk> | undefined {
  if (record.form === 'stream') {
    const { chunks } = record;
    return (async function* () {
      for (const chunk of chunks) yield form.decode(chunk);
    })();
  }
  const chunks = form.fromWhole?.(record.body);
  return (
    chunks &&
    (async function* () {
      yield* chunks;
    })()
  );
}
