// One streamed answer (Anthropic, "Streaming messages"): its events as chunks of a chat
// completion. Accumulated as OpenAI's clients do it, they say what the whole answer says.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatDeltaSchema,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator, TranslationContext } from '../../dialect.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { clip } from '../../provider-error.ts';
import type { UsageReport } from '../../usage/report.ts';
import { annotations } from './citations.ts';
import { errorInside, speaksOfError } from './error.ts';
import { finishReason } from './finish-reason.ts';
import { argumentsText, ownBlock, refusalIn } from './response.ts';
import { readBegun, readUsage, usageIn } from './usage.ts';

const NONE: readonly never[] = Object.freeze([]);

type Delta = MessageInitShape<typeof ChatDeltaSchema>;

/** A piece of the only choice that there is. */
interface Choice {
  readonly delta?: Delta;
  readonly finishReason?: string;
  readonly extra?: JsonObject;
}

/** A block that has begun. */
interface Block {
  readonly type: string;
  /** Which of the message's tool calls, for `tool_use`; -1 otherwise. */
  readonly call: number;
  /** The input that its start gave. */
  readonly input: unknown;
  /** Whether a piece of it was passed on. */
  hasText: boolean;
  /** Where its text begins in the answer's. */
  readonly start: number;
  readonly citations: JsonObject[];
}

/** Translates the events of one answer. */
export class AnthropicStream implements StreamTranslator<ChatCompletionChunk> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #strict: boolean;
  /** Whether the caller asked for a last chunk with the usage. */
  readonly #includeUsage: boolean;
  readonly #created: bigint;
  readonly #blocks = new Map<number, Block>();
  #id = '';
  #model: string | undefined;
  #calls = 0;
  /** Characters of text so far, for what citations are of. */
  #text = 0;
  #started = false;
  #usage: JsonObject | undefined;
  /** The stop reason that the message began with. */
  #reason: string | undefined;
  #finished = false;
  #done = false;

  constructor(json: MessageJson, { target, now }: TranslationContext, includeUsage: boolean) {
    this.#json = json;
    this.#provider = target.provider.id;
    this.#strict = target.strict;
    this.#includeUsage = includeUsage;
    this.#created = BigInt(Math.floor(now() / 1000));
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly ChatCompletionChunk[] {
    if (this.#done || event.data.trim() === '') return NONE;
    const json = this.#parse(event);
    if (!isObject(json)) return NONE;
    if (speaksOfError(json) || event.event === 'error') throw errorInside(json, this.#provider);
    const usage = usageIn(json);
    if (usage !== undefined) this.#usage = mergeUsage(this.#usage, usage);
    switch (json.type ?? event.event) {
      case 'message_start':
        return this.#start(objectOf(json.message) ?? {});
      case 'content_block_start':
        return this.#blockStart(indexOf(json), objectOf(json.content_block) ?? {});
      case 'content_block_delta':
        return this.#blockDelta(indexOf(json), objectOf(json.delta) ?? {});
      case 'content_block_stop':
        return this.#blockStop(indexOf(json));
      case 'message_delta':
        return this.#messageDelta(objectOf(json.delta) ?? {});
      case 'message_stop':
        return this.#stop();
      default:
        return NONE; // `ping`, and whatever may come: "handle unknown event types gracefully".
    }
  }

  end(): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    if (this.#finished) return this.#stop();
    throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
      provider: this.#provider,
    });
  }

  usage(): UsageReport {
    return this.#usage && (this.#finished ? readUsage : readBegun)(this.#usage, false);
  }

  model(): string | undefined {
    return this.#model;
  }

  tier(): string | undefined {
    return textOf(this.#usage?.service_tier);
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

  #start(message: JsonObject): readonly ChatCompletionChunk[] {
    this.#id = textOf(message.id) ?? this.#id;
    this.#model = textOf(message.model) ?? this.#model;
    // A fallback inside of the provider begins the message again.
    if (this.#started) return NONE;
    this.#started = true;
    this.#reason = textOf(message.stop_reason);
    // A message that goes on with the results of the provider's tools may begin with content, and end with it.
    const blocks = arrayOf(message.content).filter(isObject);
    const content = blocks.flatMap((block, i) => [...this.#blockStart(i, block), ...this.#blockStop(i)]);
    return [...this.#delta({ role: 'assistant' }), ...content];
  }

  #blockStart(index: number, block: JsonObject): readonly ChatCompletionChunk[] {
    const type = textOf(block.type) ?? '';
    const isCall = type === 'tool_use';
    const begun: Block = {
      type,
      call: isCall ? this.#calls++ : -1,
      input: block.input,
      hasText: false,
      start: this.#text,
      citations: arrayOf(block.citations).filter(isObject),
    };
    this.#blocks.set(index, begun);
    if (isCall) {
      const named = { name: textOf(block.name) ?? '', arguments: '' };
      return this.#delta({
        toolCalls: [{ index: begun.call, id: textOf(block.id) ?? '', type: 'function', function: named }],
      });
    }
    const text = type === 'text' ? textOf(block.text) : undefined;
    const thinking = type === 'thinking' ? textOf(block.thinking) : undefined;
    begun.hasText = text !== undefined;
    this.#text += text?.length ?? 0;
    return this.#delta({
      ...(text === undefined ? {} : { content: text }),
      ...this.#own(index, block),
      ...(thinking === undefined || this.#strict ? {} : { reasoningContent: thinking }),
    });
  }

  #blockDelta(index: number, { type, ...delta }: JsonObject): readonly ChatCompletionChunk[] {
    const block = this.#blocks.get(index);
    if (block !== undefined && block.call !== -1) {
      const piece = type === 'input_json_delta' ? textOf(delta.partial_json) : undefined;
      if (piece === undefined) return NONE;
      block.hasText = true;
      return this.#delta({ toolCalls: [{ index: block.call, function: { arguments: piece } }] });
    }
    const text = type === 'text_delta' ? textOf(delta.text) : undefined;
    const thinking = type === 'thinking_delta' && !this.#strict ? textOf(delta.thinking) : undefined;
    if (text !== undefined && block !== undefined) block.hasText = true;
    this.#text += text?.length ?? 0;
    if (type === 'citations_delta' && isObject(delta.citation)) block?.citations.push(delta.citation);
    return this.#delta({
      ...(text === undefined ? {} : { content: text }),
      ...this.#own(index, { ...delta, type: block?.type ?? 'text' }),
      ...(thinking === undefined ? {} : { reasoningContent: thinking }),
    });
  }

  /** A call without input is "{}" and a text without words is "", as in the whole answer. */
  #blockStop(index: number): readonly ChatCompletionChunk[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block === undefined) return NONE;
    const cited = annotations(block.citations, block.start, this.#text);
    if (cited.length > 0)
      return this.#delta({ ...(block.hasText ? {} : { content: '' }), extra: { annotations: cited } });
    if (block.hasText) return NONE;
    if (block.call !== -1) {
      return this.#delta({
        toolCalls: [{ index: block.call, function: { arguments: argumentsText(block.input) } }],
      });
    }
    return block.type === 'text' ? this.#delta({ content: '' }) : NONE;
  }

  #messageDelta(delta: JsonObject): readonly ChatCompletionChunk[] {
    const reason = textOf(delta.stop_reason);
    if (reason === undefined || this.#finished) return NONE;
    const sequence = this.#strict ? undefined : textOf(delta.stop_sequence);
    const refusal = refusalIn(delta);
    return [
      ...(refusal === undefined ? NONE : this.#delta({ refusal })),
      ...this.#finish(reason, sequence === undefined ? {} : { extra: { stop_sequence: sequence } }),
    ];
  }

  #finish(reason: string | undefined, more: Choice = {}): readonly ChatCompletionChunk[] {
    this.#finished = true;
    return [this.#chunk([{ delta: {}, finishReason: finishReason(reason, this.#strict), ...more }])];
  }

  #stop(): readonly ChatCompletionChunk[] {
    const chunks = this.#finished ? [] : [...this.#finish(this.#reason)];
    this.#done = true;
    if (this.#includeUsage && this.#usage) {
      const usage = readUsage(this.#usage, this.#strict);
      // A report that is refused is not passed on.
      if (usage === undefined || usage === 'refused') return chunks;
      chunks.push(create(ChatCompletionChunkSchema, { ...this.#head(), choices: [], usage }));
    }
    return chunks;
  }

  /** A piece of one of the provider's own blocks, for callers that are not strict. */
  #own(index: number, piece: JsonObject): Pick<Delta, 'contentBlocks'> {
    return this.#strict ? {} : { contentBlocks: [ownBlock(this.#json, { ...piece, index })] };
  }

  #delta(delta: Delta): readonly ChatCompletionChunk[] {
    return Object.keys(delta).length === 0 ? NONE : [this.#chunk([{ delta }])];
  }

  #chunk(choices: Choice[]): ChatCompletionChunk {
    return create(ChatCompletionChunkSchema, {
      ...this.#head(),
      choices: choices.map((choice) => ({ index: 0, ...choice })),
    });
  }

  #head(): Pick<ChatCompletionChunk, 'id' | 'object' | 'created' | 'model'> {
    return {
      id: this.#id,
      object: 'chat.completion.chunk',
      created: this.#created,
      model: this.#model ?? '',
    };
  }
}

function indexOf(json: JsonObject): number {
  return typeof json.index === 'number' ? json.index : 0;
}
