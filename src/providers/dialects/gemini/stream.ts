// One streamed answer (Gemini API, "streamGenerateContent"): each event is a whole response with what is new.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatChunkChoiceSchema,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator, TranslationContext } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { type ChoiceEvent, type Finish, GeminiAnswer } from './answer.ts';
import { type Delta, deltaOf } from './delta.ts';
import { errorInside, speaksOfError } from './error.ts';

const NONE: readonly never[] = Object.freeze([]);

type Choice = MessageInitShape<typeof ChatChunkChoiceSchema>;

/** Translates the events of one answer. */
export class GeminiStream implements StreamTranslator<ChatCompletionChunk> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #strict: boolean;
  readonly #includeUsage: boolean;
  readonly #created: bigint;
  readonly #answer: GeminiAnswer;
  readonly #begun = new Set<number>();
  #done = false;

  constructor(json: MessageJson, context: TranslationContext, includeUsage: boolean) {
    this.#json = json;
    this.#provider = context.target.provider.id;
    this.#strict = context.target.strict;
    this.#includeUsage = includeUsage;
    this.#created = BigInt(Math.floor(context.now() / 1000));
    this.#answer = new GeminiAnswer(context);
  }

  /** Gemini has no terminal event: a chunk after the finish may still count tokens. */
  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly ChatCompletionChunk[] {
    if (this.#done || event.data.trim() === '' || event.data === '[DONE]') return NONE;
    const json = this.#parse(event);
    const objects = (Array.isArray(json) ? json : [json]).filter(isObject);
    return objects.flatMap((object) => this.#object(object));
  }

  end(): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    if (!this.#answer.finished)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    this.#done = true;
    const usage = this.#answer.told(this.#json);
    if (!this.#includeUsage || usage === undefined) return NONE;
    return [create(ChatCompletionChunkSchema, { ...this.#head(), choices: [], usage })];
  }

  usage(): UsageReport {
    return this.#answer.usage(this.#json);
  }

  model(): string | undefined {
    return this.#answer.model;
  }

  #object(object: JsonObject): readonly ChatCompletionChunk[] {
    if (speaksOfError(object)) throw errorInside(object, this.#provider);
    return this.#answer.read(object).flatMap((event) => this.#event(event));
  }

  #event(event: ChoiceEvent): readonly ChatCompletionChunk[] {
    const { index } = event;
    const deltas: Delta[] = [];
    if (!this.#begun.has(index)) {
      this.#begun.add(index);
      deltas.push({ role: 'assistant' });
    }
    for (const piece of event.pieces) {
      const delta = deltaOf(this.#json, piece, this.#strict);
      if (delta !== undefined) deltas.push(delta);
    }
    const choices: Choice[] = joined(deltas).map((delta) => ({ index, delta }));
    const [first] = choices;
    if (event.logprobs !== undefined)
      if (first === undefined) choices.push({ index, delta: {}, logprobs: event.logprobs });
      else first.logprobs = event.logprobs;
    if (event.finish !== undefined) choices.push(...this.#finish(index, event.finish));
    return choices.map((choice) => create(ChatCompletionChunkSchema, { ...this.#head(), choices: [choice] }));
  }

  #finish(index: number, { reason, refusal, annotations, own }: Finish): Choice[] {
    const delta: Delta = {
      ...(refusal === undefined ? {} : { refusal }),
      ...(annotations.length === 0 ? {} : { extra: { annotations } }),
    };
    const extra = this.#strict || Object.keys(own).length === 0 ? {} : { extra: own };
    return [{ index, delta, finishReason: reason, ...extra }];
  }

  #parse({ event, data }: SseEvent): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#provider;
      if (event === 'error')
        throw fail('upstream_status', data.slice(0, 500), { provider, status: 502, cause });
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  #head(): Pick<ChatCompletionChunk, 'id' | 'object' | 'created' | 'model'> {
    return {
      id: this.#answer.id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#answer.model ?? '',
    };
  }
}

/** The role goes out with the first piece. */
function joined(deltas: Delta[]): Delta[] {
  const [first, second, ...rest] = deltas;
  if (first?.role === undefined || second === undefined) return deltas;
  return [{ ...second, role: first.role }, ...rest];
}
