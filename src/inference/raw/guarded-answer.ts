// An answer of a known form that is looked at before it is passed on: whole, or event by event.
import type { JsonObject } from '@bufbuild/protobuf';
import type { AbortLike } from '../../lib/abort.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { GatewayError } from '../../lib/errors.ts';
import { MOST_EVENT_WEIGHT, READ_BYTE } from '../../lib/heavy-event.ts';
import { decodedAside } from '../../lib/incoming/decode-aside.ts';
import { codingsOf } from '../../lib/incoming/decoded-length.ts';
import { type Framing, framingOf } from '../../providers/framing.ts';
import { isObject } from '../../providers/json-object.ts';
import { isTooHeavy } from '../../rest/json-weight.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import type { Governed } from './govern.ts';
import { type GuardedEventsDeps, guardedEvents, REFUSALS } from './guarded-events.ts';
import type { RawGuards } from './raw-guards.ts';
import { pieceFrom } from './stream-forms.ts';
import { unseen } from './unseen.ts';

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
 * The answer after its output guardrails: the same bytes where they write nothing. What has no known form goes on unread
 * unless every answer must be read. @param hear told of the bytes of a stream that is read @throws RefusedAnswer
 */
export async function guardedAnswer(
  answer: StreamedAnswer,
  guards: RawGuards,
  governed: Governed,
  signal: AbortLike,
  hear: GuardedEventsDeps['hear'],
): Promise<StreamedAnswer> {
  if (answer.status < 200 || answer.status > 299 || answer.status === 204) return answer;
  const { says, mustRead } = governed;
  const framing = framingOf(answer.header('content-type') ?? '');
  if (framing !== undefined) return guardedStream(answer, guards, governed, framing, signal, hear);
  if (!says) return answer;
  const bytes = await readBounded(answer.body, MAX_BYTES + 1);
  if (bytes.length > MAX_BYTES)
    throw new RefusedAnswer(unseen(`it is longer than ${MAX_BYTES} bytes`), NO_BYTES);
  const codings = codingsOf(answer.header('content-encoding'));
  const plain = codings.length === 0 ? bytes : await decodedAside(bytes, codings, MAX_BYTES);
  if (plain !== undefined && (await isTooHeavy(plain, MOST_EVENT_WEIGHT, READ_BYTE)))
    throw new RefusedAnswer(unseen('it has too many members and items'), bytes);
  const parsed = plain && parse(plain);
  if (Array.isArray(parsed)) return guardedList(answer, guards, parsed, bytes, mustRead, signal);
  const json = isObject(parsed) ? parsed : undefined;
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

function parse(bytes: Uint8Array): unknown {
  try {
    return JSON.parse(Buffer.from(bytes).toString('utf8'));
  } catch {
    return undefined;
  }
}

/** A stream, event by event. */
async function guardedStream(
  answer: StreamedAnswer,
  guards: RawGuards,
  { says, mustRead }: Governed,
  framing: Framing,
  signal: AbortLike,
  hear: GuardedEventsDeps['hear'],
): Promise<StreamedAnswer> {
  const form = says ? guards.streamForm : undefined;
  const isEncoded = codingsOf(answer.header('content-encoding')).length > 0;
  if (form === undefined || isEncoded) {
    if (!mustRead) return answer;
    await answer.body[Symbol.asyncIterator]().return?.();
    throw new RefusedAnswer(unseen(isEncoded ? 'its stream is compressed' : guards.whyNoStream), NO_BYTES);
  }
  try {
    const { requestId } = guards;
    const body = await guardedEvents(answer.body, {
      form,
      framing,
      mustRead,
      requestId,
      hear,
      guard: (events, pieces) => guards.stream(events, form.schema, pieces, signal),
    });
    return withStream(answer, body);
  } catch (thrown) {
    const isRefusal = thrown instanceof GatewayError && REFUSALS.has(thrown.reason);
    throw isRefusal ? new RefusedAnswer(thrown, NO_BYTES) : thrown;
  }
}

/** Gemini's stream as one list of JSON. */
async function guardedList(
  answer: StreamedAnswer,
  guards: RawGuards,
  list: readonly unknown[],
  bytes: Uint8Array,
  mustRead: boolean,
  signal: AbortLike,
): Promise<StreamedAnswer> {
  const form = guards.streamForm;
  if (form === undefined || !list.every(isObject)) {
    if (mustRead) throw new RefusedAnswer(unseen('it is a list that cannot be read'), bytes);
    return withBody(answer, bytes, answer.rawHeaders);
  }
  const pieces = list.map((json) => pieceFrom(form.schema, json as JsonObject));
  try {
    const { events } = await guards.stream(inOrder(pieces), form.schema, form.pieces, signal);
    for await (const _ of events);
  } catch (thrown) {
    if (thrown instanceof GatewayError) throw new RefusedAnswer(thrown, bytes);
    throw thrown;
  }
  return withBody(answer, bytes, answer.rawHeaders);
}

async function* inOrder<T>(values: readonly T[]): AsyncGenerator<T, void> {
  yield* values;
}

/** What a guardrail may cut has no length before it is over. */
function withStream(answer: StreamedAnswer, body: StreamedAnswer['body']): StreamedAnswer {
  const rawHeaders = answer.rawHeaders.filter((_, i, all) => !OF_BYTES.has(all[i - (i % 2)]!.toLowerCase()));
  return {
    status: answer.status,
    rawHeaders,
    header: (name) => (OF_BYTES.has(name) ? undefined : answer.header(name)),
    body,
  };
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
