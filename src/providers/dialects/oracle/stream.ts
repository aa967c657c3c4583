// One streamed answer: pieces of messages, the last of which has a reason; the usage may follow by itself.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatChunkChoiceSchema,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatDeltaSchema,
  type CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { clip } from '../../provider-error.ts';
import type { UsageReport } from '../../usage/report.ts';
import { readUsage } from '../../usage/tap.ts';
import { isCohere } from './cohere.ts';
import { calledTools } from './cohere-tools.ts';
import { finishReason } from './finish-reason.ts';
import { logprobsIn } from './logprobs.ts';
import { namedUsage } from './usage.ts';

const NONE: readonly never[] = Object.freeze([]);

type Choice = MessageInitShape<typeof ChatChunkChoiceSchema>;
type Delta = MessageInitShape<typeof ChatDeltaSchema>;

/** Translates the events of one answer. */
export class OracleStream implements StreamTranslator<ChatCompletionChunk> {
  readonly #json: MessageJson;
  readonly #context: TranslationContext;
  readonly #includeUsage: boolean;
  readonly #cohere: boolean;
  readonly #created: bigint;
  readonly #id: string;
  readonly #model: string;
  /** The calls of each choice by their ids: pieces of one call may repeat it, or leave it out. */
  readonly #calls = new Map<number, string[]>();
  #usage: JsonObject | undefined;
  #started = false;
  #finished = false;
  #done = false;

  constructor(json: MessageJson, context: TranslationContext, request: CreateChatCompletionRequest) {
    this.#json = json;
    this.#context = context;
    this.#includeUsage = request.streamOptions?.includeUsage === true;
    this.#model = request.model ?? '';
    this.#cohere = isCohere(this.#model);
    this.#created = BigInt(Math.floor(context.now() / 1000));
    this.#id = `oracle-${context.now().toString(36)}`;
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly ChatCompletionChunk[] {
    const data = event.data.trim();
    if (this.#done || data === '') return NONE;
    if (data === '[DONE]') return this.#ended();
    const json = this.#parse(data);
    if (!isObject(json)) return NONE;
    this.#usage = namedUsage(objectOf(json.usage)) ?? this.#usage;
    const isError = typeof json.code === 'string' && json.message !== undefined && !isObject(json.message);
    if (isError || isObject(json.error)) throw this.#error(json);
    const choice = this.#choice(json);
    return choice === undefined ? NONE : [this.#chunk(choice)];
  }

  end(): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    if (this.#finished) return this.#ended();
    throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
      provider: this.#context.target.provider.id,
    });
  }

  usage(): UsageReport {
    return this.#usage && readUsage(this.#json, this.#usage);
  }

  model(): undefined {
    return undefined;
  }

  #parse(data: string): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#context.target.provider.id;
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  #error(json: JsonObject) {
    const { message = json.message } = objectOf(json.error) ?? {};
    const provider = this.#context.target.provider.id;
    return fail('upstream_status', clip(String(message)), { provider, status: 502 });
  }

  #choice(json: JsonObject): Choice | undefined {
    const index = typeof json.index === 'number' ? json.index : 0;
    const reason = textOf(json.finishReason);
    const message = objectOf(json.message) ?? {};
    // At its end Cohere's format repeats the whole text.
    const own = this.#cohere && reason === undefined ? json.text : undefined;
    const delta = this.#delta(index, message, own, this.#cohereCalls(json, reason !== undefined));
    const logprobs = logprobsIn(json);
    if (reason === undefined)
      return Object.keys(delta).length === 0 ? undefined : { index, delta, ...logprobs };
    this.#finished = true;
    const called = (this.#calls.get(index)?.length ?? 0) > 0;
    return {
      index,
      delta,
      ...logprobs,
      finishReason: finishReason(reason, called, this.#context.target.strict),
    };
  }

  /** Calls in Cohere's format, each whole; the last event repeats those that came before. */
  #cohereCalls(json: JsonObject, isLast: boolean): NonNullable<Delta['toolCalls']> {
    if (!this.#cohere) return [];
    const known = this.#calls.get(0) ?? [];
    const before = known.length;
    const calls = calledTools(json.toolCalls, this.#id, isLast ? before : 0);
    if (calls.length === 0) return [];
    this.#calls.set(0, known);
    return calls.map((call, i) => {
      const id = `call_${this.#id}_${before + i}`;
      known.push(id);
      return { ...call, id, index: before + i };
    });
  }

  #delta(index: number, message: JsonObject, own: unknown, calls: NonNullable<Delta['toolCalls']>): Delta {
    const content = arrayOf(message.content).filter(isObject);
    const text = typeof own === 'string' ? own : content.map((part) => textOf(part.text) ?? '').join('');
    const thought = this.#context.target.strict ? undefined : textOf(message.reasoningContent);
    const toolCalls = [
      ...calls,
      ...arrayOf(message.toolCalls)
        .filter(isObject)
        .map((call) => this.#call(index, call)),
    ];
    const first = !this.#started;
    this.#started = true;
    return {
      ...(first ? { role: 'assistant' } : {}),
      ...(text === '' ? {} : { content: text }),
      ...(thought === undefined ? {} : { reasoningContent: thought }),
      ...(toolCalls.length === 0 ? {} : { toolCalls }),
    };
  }

  #call(choice: number, call: JsonObject) {
    const known = this.#calls.get(choice) ?? [];
    this.#calls.set(choice, known);
    const id = textOf(call.id);
    const before = id === undefined ? known.length - 1 : known.indexOf(id);
    const isNew = before < 0;
    if (isNew) known.push(id ?? '');
    const index = isNew ? known.length - 1 : before;
    const args = textOf(call.arguments) ?? '';
    return isNew
      ? {
          index,
          id: id ?? '',
          type: 'function',
          function: { name: textOf(call.name) ?? '', arguments: args },
        }
      : { index, function: { arguments: args } };
  }

  #ended(): readonly ChatCompletionChunk[] {
    if (!this.#finished)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#context.target.provider.id,
      });
    this.#done = true;
    const usage = this.usage();
    if (!this.#includeUsage || typeof usage !== 'object') return NONE;
    return [create(ChatCompletionChunkSchema, { ...this.#head(), choices: [], usage })];
  }

  #chunk(choice: Choice): ChatCompletionChunk {
    return create(ChatCompletionChunkSchema, { ...this.#head(), choices: [choice] });
  }

  #head() {
    return { id: this.#id, object: 'chat.completion.chunk', created: this.#created, model: this.#model };
  }
}
