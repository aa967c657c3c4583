// The answer to a form: JSON, text, or events. Events go on as they come; the others are read whole.
import { create, type JsonObject, type Message } from '@bufbuild/protobuf';
import { TranscriptionSchema } from '../../../gen/gateway/inference/v2/audio_pb.ts';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { rawValueOf } from '../../lib/raw-json.ts';
import { Turns } from '../../lib/turns.ts';
import type { Translated } from '../../providers/dialect.ts';
import { operationRow } from '../../providers/operations.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { codec } from '../../rest/codec.ts';
import type { Attempt } from '../pipeline/attempt.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import { isEncoded, MAX_ANSWER_BYTES } from '../pipeline/whole.ts';
import { type EventCollector, eventCollector } from './event-collectors.ts';
import type { FormName } from './form-name.ts';

/** Those that may be answered with a text that is no JSON. */
const TEXTS: ReadonlySet<FormName> = new Set(['transcriptions', 'translations']);

/** An answer that was read whole. */
export interface Kept {
  readonly message: Message & { readonly text?: string };
  readonly contentType: string;
  /** As the provider gave it; absent of JSON, which the message is. */
  readonly bytes?: Uint8Array;
  readonly kind: 'json' | 'text' | 'events';
}

/** What a form is answered with: a message, or bytes as they come. */
export type FormAnswer<Answer> =
  | { readonly message: Answer; readonly kept: Kept; readonly events: undefined }
  | { readonly message: undefined; readonly kept: undefined; readonly events: AsyncIterable<BinaryAnswer> };

interface How {
  /** The request, with what stood after its files: it decides how images are priced. */
  readonly request: () => object;
  /** Of JSON. */
  readonly read: (bytes: Uint8Array) => Translated<Message>;
  readonly provider: string;
  /** Whether events are read whole, too. */
  readonly whole: boolean;
}

type Made =
  | { readonly kept: Kept; readonly events?: undefined }
  | { readonly kept?: undefined; readonly events: AsyncIterable<BinaryAnswer> };

const TYPE = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}(?:\s*;[\x20-\x7e]{0,128})?$/;

/** Reads the provider's answer and ends the attempt with it. @throws GatewayError upstream_garbage */
export async function answerOf(
  answer: StreamedAnswer,
  attempt: Attempt,
  name: FormName,
  { request, read, provider, whole }: How,
): Promise<Made> {
  if (isEncoded(answer.header('content-encoding')))
    throw fail('upstream_garbage', `${provider} answered in an encoding that was not asked for`);
  const said = answer.header('content-type') ?? '';
  const contentType = TYPE.test(said) ? said : 'text/plain; charset=utf-8';
  const isEvents = /^text\/event-stream/i.test(said);
  if (isEvents && !whole)
    return { events: eventsOf(answer, contentType, attempt, eventCollector(name, request())) };
  const bytes = await readBounded(answer.body, MAX_ANSWER_BYTES);
  const ended = (usage: UsageReport, responseModel?: string): void =>
    attempt.end({
      status: answer.status,
      outcome: 'success',
      usage,
      responseModel,
      unpriced: usage === undefined,
    });
  if (!isEvents && (!TEXTS.has(name) || /^application\/json/i.test(said))) {
    const { answer: message, usage, model } = read(bytes);
    ended(usage, model);
    return { kept: { message, contentType, kind: 'json' } };
  }
  if (!isEvents) {
    const text = new TextDecoder().decode(bytes);
    ended(undefined);
    const message = create(TranscriptionSchema, { text });
    return { kept: { message, contentType, bytes, kind: 'text' } };
  }
  const collector = eventCollector(name, request());
  collector.push(bytes);
  ended(collector.usage);
  return { kept: { message: collector.message(), contentType, bytes, kind: 'events' } };
}

/** The answer in bytes: as the provider gave it, but for what guardrails changed. */
export function* bytesOf(
  { kind, message: read, bytes, contentType }: Kept,
  name: FormName,
  given: Message & { readonly text?: string },
): Generator<BinaryAnswer> {
  yield create(BinaryAnswerSchema, { kind: { case: 'head', value: { contentType } } });
  const changed = given.text !== read.text;
  const value =
    kind === 'json'
      ? JSON.stringify(jsonOf(name, given, changed))
      : changed || bytes === undefined
        ? changedText(kind, given.text ?? '')
        : bytes;
  yield create(BinaryAnswerSchema, {
    kind: {
      case: 'chunk',
      value: (typeof value === 'string' ? Buffer.from(value) : value) as Uint8Array<ArrayBuffer>,
    },
  });
}

/** Words and tokens would say what a guardrail has taken out of the text. */
function jsonOf(name: FormName, given: Message, changed: boolean): JsonObject {
  const json = rawValueOf(given) ?? codec.encode(operationRow(name).answer, given);
  if (!changed) return json as JsonObject;
  const { words: _words, logprobs: _logprobs, ...rest } = json as JsonObject;
  return rest;
}

function changedText(kind: Kept['kind'], text: string): string {
  if (kind === 'text') return text;
  return `data: ${JSON.stringify({ type: 'transcript.text.done', text })}\n\n`;
}

async function* eventsOf(
  answer: StreamedAnswer,
  contentType: string,
  attempt: Attempt,
  collector: EventCollector,
): AsyncGenerator<BinaryAnswer> {
  const turns = new Turns();
  let over = false;
  try {
    yield create(BinaryAnswerSchema, { kind: { case: 'head', value: { contentType } } });
    for await (const piece of answer.body) {
      attempt.firstToken();
      collector.push(piece);
      const pause = turns.step(piece.length);
      if (pause !== undefined) await pause;
      yield create(BinaryAnswerSchema, {
        kind: { case: 'chunk', value: piece as Uint8Array<ArrayBuffer> },
      });
    }
    over = true;
    const { usage } = collector;
    attempt.end({ status: answer.status, outcome: 'success', usage, unpriced: usage === undefined });
  } catch (thrown) {
    over = true;
    throw attempt.fail(thrown, { usage: collector.usage });
  } finally {
    if (!over) attempt.fail(fail('client_closed', 'the client has left'), { usage: collector.usage });
  }
}
