// One streamed answer (Cohere, "Streaming"): its events as chunks of a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatChunkChoiceSchema,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatDeltaSchema,
  ContentBlockSchema,
  type CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { clip } from '../../provider-error.ts';
import type { UsageReport } from '../../usage/report.ts';
import { readUsage } from '../../usage/tap.ts';
import { annotations } from './citations.ts';
import { failed } from './error.ts';
import { finishReason, isFailure } from './finish-reason.ts';
import { logprobs } from './logprobs.ts';

const NONE: readonly never[] = Object.freeze([]);

type Delta = MessageInitShape<typeof ChatDeltaSchema>;
type Choice = MessageInitShape<typeof ChatChunkChoiceSchema>;

/** Translates the events of one answer. */
export class CohereStream implements StreamTranslator<ChatCompletionChunk> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #strict: boolean;
  readonly #includeUsage: boolean;
  readonly #created: bigint;
  /** The requested model: Cohere does not name the model that answers. */
  readonly #model: string;
  #id = '';
  #calls = -1;
  /** Whether a piece of the present call's arguments was passed on. */
  #argued = true;
  /** Whether the text has no words so far; undefined: no text has begun. */
  #wordless: boolean | undefined;
  #usage: JsonObject | undefined;
  #done = false;

  constructor(
    json: MessageJson,
    { target, now }: TranslationContext,
    { model = '', streamOptions }: CreateChatCompletionRequest,
  ) {
    this.#model = model;
    this.#json = json;
    this.#provider = target.provider.id;
    this.#strict = target.strict;
    this.#includeUsage = streamOptions?.includeUsage === true;
    this.#created = BigInt(Math.floor(now() / 1000));
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly ChatCompletionChunk[] {
    if (this.#done || event.data.trim() === '' || event.data === '[DONE]') return NONE;
    const json = this.#parse(event);
    if (!isObject(json)) return NONE;
    const delta = objectOf(json.delta) ?? {};
    const message = objectOf(delta.message) ?? {};
    switch (json.type ?? event.event) {
      case 'message-start':
        this.#id = textOf(json.id) ?? this.#id;
        return this.#delta({ role: 'assistant' });
      case 'content-start':
      case 'content-delta':
        return this.#content(objectOf(message.content) ?? {}, json);
      case 'tool-plan-delta':
        return this.#plan(message.tool_plan);
      case 'tool-call-start':
        return this.#callStart(objectOf(message.tool_calls) ?? {});
      case 'tool-call-delta':
        return this.#arguments(objectOf(objectOf(message.tool_calls)?.function)?.arguments);
      case 'tool-call-end':
        return this.#argued ? NONE : this.#arguments('{}');
      case 'citation-start':
        return this.#cited(message.citations);
      case 'message-end':
        return this.#end(delta);
      default:
        // `content-end`, `citation-end`, `debug`, and what may come. An error object has no type.
        if (json.type === undefined && textOf(json.message) !== undefined)
          throw failed('ERROR', textOf(json.message), this.#provider);
        return NONE;
    }
  }

  end(): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
      provider: this.#provider,
    });
  }

  usage(): UsageReport {
    return this.#usage && readUsage(this.#json, this.#usage);
  }

  model(): undefined {
    return undefined;
  }

  #parse({ event, data }: SseEvent): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#provider;
      if (event === 'error') throw fail('upstream_status', clip(data), { provider, status: 502, cause });
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  #content(content: JsonObject, json: JsonObject): readonly ChatCompletionChunk[] {
    const probabilities = logprobs(isObject(json.logprobs) ? [json.logprobs] : json.logprobs);
    const thought = typeof content.thinking === 'string' ? content.thinking : undefined;
    if (thought !== undefined) {
      if (this.#strict || thought === '') return NONE;
      const block = {
        type: 'thinking',
        thinking: thought,
        index: typeof json.index === 'number' ? json.index : 0,
      };
      return this.#delta({
        reasoningContent: thought,
        contentBlocks: [this.#json.decode(ContentBlockSchema, block)],
      });
    }
    const text = typeof content.text === 'string' ? content.text : '';
    if (text === '') {
      if (content.type === 'text') this.#wordless ??= true;
      return NONE;
    }
    this.#wordless = false;
    return [
      this.#chunk({ index: 0, delta: { content: text }, ...(probabilities && { logprobs: probabilities }) }),
    ];
  }

  #plan(piece: unknown): readonly ChatCompletionChunk[] {
    return this.#strict || typeof piece !== 'string' || piece === ''
      ? NONE
      : this.#delta({ extra: { tool_plan: piece } });
  }

  #callStart(call: JsonObject): readonly ChatCompletionChunk[] {
    this.#calls++;
    const called = objectOf(call.function);
    const args = textOf(called?.arguments) ?? '';
    this.#argued = args !== '';
    const named = { name: textOf(called?.name) ?? '', arguments: args };
    return this.#delta({
      toolCalls: [{ index: this.#calls, id: textOf(call.id) ?? '', type: 'function', function: named }],
    });
  }

  #arguments(piece: unknown): readonly ChatCompletionChunk[] {
    if (typeof piece !== 'string' || piece === '' || this.#calls < 0) return NONE;
    this.#argued = true;
    return this.#delta({ toolCalls: [{ index: this.#calls, function: { arguments: piece } }] });
  }

  #cited(value: unknown): readonly ChatCompletionChunk[] {
    const list = isObject(value) ? [value] : arrayOf(value as JsonObject[]).filter(isObject);
    const found = annotations(list);
    const extra: JsonObject = {
      ...(found.length === 0 ? {} : { annotations: found }),
      ...(this.#strict || list.length === 0 ? {} : { citations: list }),
    };
    return Object.keys(extra).length === 0 ? NONE : this.#delta({ extra });
  }

  #end(delta: JsonObject): readonly ChatCompletionChunk[] {
    const counts = objectOf(delta.usage);
    if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
    const reason = textOf(delta.finish_reason);
    if (reason !== undefined && isFailure(reason)) throw failed(reason, textOf(delta.error), this.#provider);
    this.#done = true;
    // A text without words is "", as in the whole answer.
    const words = this.#wordless ? { content: '' } : {};
    const chunks = [
      this.#chunk({ index: 0, delta: words, finishReason: finishReason(reason, this.#strict) }),
    ];
    const usage = this.usage();
    if (this.#includeUsage && typeof usage === 'object')
      chunks.push(create(ChatCompletionChunkSchema, { ...this.#head(), choices: [], usage }));
    return chunks;
  }

  #delta(delta: Delta): readonly ChatCompletionChunk[] {
    return [this.#chunk({ index: 0, delta })];
  }

  #chunk(choice: Choice): ChatCompletionChunk {
    return create(ChatCompletionChunkSchema, { ...this.#head(), choices: [choice] });
  }

  #head(): Pick<ChatCompletionChunk, 'id' | 'object' | 'created' | 'model'> {
    return { id: this.#id, object: 'chat.completion.chunk', created: this.#created, model: this.#model };
  }
}
