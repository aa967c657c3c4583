// Whether a streamed request is answered with events or with one JSON value: by the answer's type, else by its first byte.
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { framingOf } from '../../providers/framing.ts';

/** An answer's body, and whether it is one JSON value. */
export interface AnswerForm {
  readonly isWhole: boolean;
  readonly body: AsyncIterable<Uint8Array>;
}

const BYTE_ORDER_MARK = [0xef, 0xbb, 0xbf];
const OPENING = new Set(['{', '['].map((sign) => sign.charCodeAt(0)));

/**
 * Tells the form. A type of events is believed. Others are not: errors come as JSON under any type (DeepSeek's under
 * application/octet-stream), and events under application/json; a value of JSON begins with a brace or a bracket, an
 * event never does.
 */
export async function answerForm(answer: StreamedAnswer): Promise<AnswerForm> {
  const { body } = answer;
  const type = answer.header('content-type') ?? '';
  if (framingOf(type) !== undefined) return { isWhole: false, body };
  const read: Uint8Array[] = [];
  const pieces = body[Symbol.asyncIterator]();
  for (;;) {
    const { done, value } = await pieces.next();
    if (done) return { isWhole: /^application\/json\b/i.test(type), body: put(read, pieces) };
    read.push(value);
    const first = value.find((byte) => byte > 32 && !BYTE_ORDER_MARK.includes(byte));
    if (first !== undefined) return { isWhole: OPENING.has(first), body: put(read, pieces) };
  }
}

/** What was read, and the rest. Leaving it early ends the body. */
async function* put(read: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncIterable<Uint8Array> {
  try {
    yield* read;
    for (let next = await rest.next(); !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}
