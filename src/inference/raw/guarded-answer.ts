// A whole answer of a known form that is looked at before it is passed on.

import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { decodedAside } from '../../lib/incoming/decode-aside.ts';
import { codingsOf } from '../../lib/incoming/decoded-length.ts';
import { framingOf } from '../../providers/framing.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import type { Governed } from './govern.ts';
import type { RawGuards } from './raw-guards.ts';

/** Longest answer that guardrails look at, in bytes. */
const MAX_BYTES = 16 * 1024 * 1024;

/** Headers that tell of the bytes that came, not of those that a guardrail wrote. */
const OF_BYTES = new Set([
  'content-length',
  'content-encoding',
  'etag',
  'content-md5',
  'digest',
  'repr-digest',
]);

/** What came before the guardrails refused it: it is paid for. */
export class RefusedAnswer {
  readonly error: GatewayError;
  readonly body: Uint8Array;

  constructor(error: GatewayError, body: Uint8Array) {
    this.error = error;
    this.body = body;
  }
}

/**
 * The answer after its output guardrails: the same bytes where they write nothing. Streams, and what has no known form,
 * go on unread unless every answer must be read. @throws RefusedAnswer
 */
export async function guardedAnswer(
  answer: StreamedAnswer,
  guards: RawGuards,
  { says, mustRead }: Governed,
  signal: AbortLike,
): Promise<StreamedAnswer> {
  if (answer.status < 200 || answer.status > 299 || answer.status === 204) return answer;
  if (framingOf(answer.header('content-type') ?? '') !== undefined) {
    if (!mustRead) return answer;
    await answer.body[Symbol.asyncIterator]().return?.();
    throw new RefusedAnswer(unseen('it is a stream'), NO_BYTES);
  }
  if (!says) return answer;
  const bytes = await readBounded(answer.body, MAX_BYTES + 1);
  if (bytes.length > MAX_BYTES)
    throw new RefusedAnswer(unseen(`it is longer than ${MAX_BYTES} bytes`), NO_BYTES);
  const codings = codingsOf(answer.header('content-encoding'));
  const plain = codings.length === 0 ? bytes : await decodedAside(bytes, codings, MAX_BYTES);
  const json = plain && objectOf(plain);
  if (json === undefined) {
    if (mustRead) throw new RefusedAnswer(unseen('it is no JSON object'), bytes);
    return withBody(answer, bytes, answer.rawHeaders);
  }
  try {
    const written = await guards.output(json, answer.status, signal);
    if (written === json) return withBody(answer, bytes, answer.rawHeaders);
    const kept = answer.rawHeaders.filter((_, i, all) => !OF_BYTES.has(all[i - (i % 2)]!.toLowerCase()));
    return withBody(answer, Buffer.from(JSON.stringify(written)), kept, true);
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw new RefusedAnswer(thrown, plain ?? bytes);
    throw thrown;
  }
}

const NO_BYTES = new Uint8Array();

function unseen(why: string): GatewayError {
  return fail(
    'forbidden',
    `the provider's answer is not passed on: a guardrail must see every answer, and ${why}; ask for a whole answer, or use the gateway's own operations`,
  );
}

function objectOf(bytes: Uint8Array): Readonly<Record<string, unknown>> | undefined {
  try {
    const json: unknown = JSON.parse(Buffer.from(bytes).toString('utf8'));
    return typeof json === 'object' && json !== null && !Array.isArray(json)
      ? (json as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}

/** @param plain whether its bytes are no longer encoded */
function withBody(
  answer: StreamedAnswer,
  bytes: Uint8Array,
  rawHeaders: readonly string[],
  plain = false,
): StreamedAnswer {
  return {
    status: answer.status,
    rawHeaders,
    header: (name) => (plain && OF_BYTES.has(name) ? undefined : answer.header(name)),
    body: (async function* () {
      if (bytes.length > 0) yield bytes;
    })(),
  };
}
