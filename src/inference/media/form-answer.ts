// The answer to a form: JSON, text, or events. Events go on as they come; the others are read whole.
import { create, type JsonObject, type Message } from '@bufbuild/protobuf';
import { TranscriptionSchema } from '../../../gen/gateway/inference/v2/audio_pb.ts';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import type { StreamedAnswer } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import { rawJsonOf } from '../../lib/raw-json.ts';
import { SseParser } from '../../lib/sse.ts';
import { Turns } from '../../lib/turns.ts';
import type { Translated } from '../../providers/dialect.ts';
import { parsedObject } from '../../providers/json-object.ts';
import { operationRow } from '../../providers/operations.ts';
import { heardIn } from '../../providers/usage/heard.ts';
import type { UsageReport } from '../../providers/usage/report.ts';
import { codec } from '../../rest/codec.ts';
import type { Attempt } from '../pipeline/attempt.ts';
import { readBounded } from '../pipeline/read-bounded.ts';
import { isEncoded, MAX_ANSWER_BYTES } from '../pipeline/whole.ts';

/** Operations that take a form with files. */
export type FormName = 'transcriptions' | 'translations';

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
  { read, provider, whole }: How,
): Promise<Made> {
  if (isEncoded(answer.header('content-encoding')))
    throw fail('upstream_garbage', `${provider} answered in an encoding that was not asked for`);
  const said = answer.header('content-type') ?? '';
  const contentType = TYPE.test(said) ? said : 'text/plain; charset=utf-8';
  const isEvents = /^text\/event-stream/i.test(said);
  if (isEvents && !whole) return { events: eventsOf(answer, contentType, attempt) };
  const bytes = await readBounded(answer.body, MAX_ANSWER_BYTES);
  const ended = (usage: UsageReport, responseModel?: string): void =>
    attempt.end({
      status: answer.status,
      outcome: 'success',
      usage,
      responseModel,
      unpriced: usage === undefined,
    });
  if (/^application\/json/i.test(said)) {
    const { answer: message, usage, model } = read(bytes);
    ended(usage, model);
    return { kept: { message, contentType, kind: 'json' } };
  }
  const text = new TextDecoder().decode(bytes);
  if (!isEvents) {
    ended(undefined);
    const message = create(TranscriptionSchema, { text });
    return { kept: { message, contentType, bytes, kind: 'text' } };
  }
  const heard = new Heard();
  heard.push(bytes);
  ended(heard.usage);
  const message = codec.decode(operationRow(name).answer, { text: heard.text });
  return { kept: { message, contentType, bytes, kind: 'events' } };
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
  const raw = rawJsonOf(given);
  const json =
    raw === undefined
      ? codec.encode(operationRow(name).answer, given)
      : JSON.parse(typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8'));
  if (!changed) return json as JsonObject;
  const { words: _words, logprobs: _logprobs, ...rest } = json as JsonObject;
  return rest;
}

function changedText(kind: Kept['kind'], text: string): string {
  if (kind === 'text') return text;
  return `data: ${JSON.stringify({ type: 'transcript.text.done', text })}\n\n`;
}

/** What events say: the final text, and the usage. */
class Heard {
  readonly #parser = new SseParser();
  #deltas = '';
  #done: string | undefined;
  usage: UsageReport;

  push(bytes: Uint8Array): void {
    for (const { data } of this.#parser.push(bytes)) {
      const event = parsedObject(data) as JsonObject | undefined;
      if (event === undefined) continue;
      if (typeof event.delta === 'string') this.#deltas += event.delta;
      if (event.type === 'transcript.text.done' && typeof event.text === 'string') this.#done = event.text;
      this.usage = heardIn(codec, event) ?? this.usage;
    }
  }

  get text(): string {
    return this.#done ?? this.#deltas;
  }
}

async function* eventsOf(
  answer: StreamedAnswer,
  contentType: string,
  attempt: Attempt,
): AsyncGenerator<BinaryAnswer> {
  const heard = new Heard();
  const turns = new Turns();
  let over = false;
  try {
    yield create(BinaryAnswerSchema, { kind: { case: 'head', value: { contentType } } });
    for await (const piece of answer.body) {
      attempt.firstToken();
      heard.push(piece);
      const pause = turns.step(piece.length);
      if (pause !== undefined) await pause;
      yield create(BinaryAnswerSchema, {
        kind: { case: 'chunk', value: piece as Uint8Array<ArrayBuffer> },
      });
    }
    over = true;
    const { usage } = heard;
    attempt.end({ status: answer.status, outcome: 'success', usage, unpriced: usage === undefined });
  } catch (thrown) {
    over = true;
    throw attempt.fail(thrown, { usage: heard.usage });
  } finally {
    if (!over) attempt.fail(fail('client_closed', 'the client has left'), { usage: heard.usage });
  }
}
