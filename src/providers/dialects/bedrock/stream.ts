// One streamed answer (Bedrock Runtime API reference, "ConverseStream"): its events as chunks of a chat completion.
import { create, type JsonObject, type MessageInitShape } from '@bufbuild/protobuf';
import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  type ChatDeltaSchema,
  type CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator, TranslationContext } from '../../dialect.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import type { UsageReport } from '../../usage/report.ts';
import { readUsage } from '../../usage/tap.ts';
import { annotation, imagesOf, isServerTool, ownBlock, serverToolResult, serverToolUse } from './blocks.ts';
import { exceptionOf, isException } from './error.ts';
import { finishReason } from './finish-reason.ts';
import { madeId, ownMembers } from './response.ts';

const NONE: readonly never[] = Object.freeze([]);

type Delta = MessageInitShape<typeof ChatDeltaSchema>;
type Chunk = MessageInitShape<typeof ChatCompletionChunkSchema>;

/** A block that has begun. Texts and thoughts begin with their first piece. */
interface Block {
  readonly kind: 'call' | 'server_tool_use' | 'tool_result' | 'other';
  /** Which of the caller's calls. */
  readonly call: number;
  /** Whether a piece of its input was passed on. */
  said: boolean;
}

/** Translates the events of one answer. */
export class BedrockStream implements StreamTranslator<ChatCompletionChunk> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #strict: boolean;
  readonly #includeUsage: boolean;
  readonly #head: Chunk;
  readonly #blocks = new Map<number, Block>();
  #calls = 0;
  /** Characters of text so far, for what citations are of. */
  #text = 0;
  #hasText = false;
  #started = false;
  #usage: JsonObject | undefined;
  #tier: string | undefined;
  #finished = false;
  #done = false;

  constructor(json: MessageJson, context: TranslationContext, request: CreateChatCompletionRequest) {
    this.#json = json;
    this.#provider = context.target.provider.id;
    this.#strict = context.target.strict;
    this.#includeUsage = request.streamOptions?.includeUsage === true;
    this.#head = {
      id: madeId(context),
      object: 'chat.completion.chunk',
      created: BigInt(Math.floor(context.now() / 1000)),
      model: request.model ?? '',
    };
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    if (isException(event)) throw exceptionOf(event, this.#provider);
    const json = this.#parse(event.data);
    if (json === undefined) return NONE;
    const index = typeof json.contentBlockIndex === 'number' ? json.contentBlockIndex : 0;
    switch (event.event) {
      case 'messageStart':
        return this.#start();
      case 'contentBlockStart':
        return this.#begun(index, objectOf(json.start) ?? {});
      case 'contentBlockDelta':
        return this.#piece(index, objectOf(json.delta) ?? {});
      case 'contentBlockStop':
        return this.#ended(index);
      case 'messageStop':
        return this.#finish(json);
      case 'metadata':
        return this.#metadata(json);
      default:
        return NONE; // What may come yet.
    }
  }

  end(): readonly ChatCompletionChunk[] {
    if (this.#done) return NONE;
    if (!this.#finished)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    return this.#stop({});
  }

  usage(): UsageReport {
    return this.#usage && readUsage(this.#json, this.#usage);
  }

  model(): string | undefined {
    return undefined;
  }

  tier(): string | undefined {
    return this.#tier;
  }

  #parse(data: string): JsonObject | undefined {
    if (data.trim() === '') return undefined;
    try {
      const json: unknown = JSON.parse(data);
      return isObject(json) ? json : undefined;
    } catch (cause) {
      const provider = this.#provider;
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  #start(): readonly ChatCompletionChunk[] {
    if (this.#started) return NONE;
    this.#started = true;
    return this.#delta({ role: 'assistant' });
  }

  #begun(index: number, start: JsonObject): readonly ChatCompletionChunk[] {
    const use = objectOf(start.toolUse);
    const result = objectOf(start.toolResult);
    const image = objectOf(start.image);
    if (use !== undefined && !isServerTool(use)) {
      const call = this.#calls++;
      this.#blocks.set(index, { kind: 'call', call, said: false });
      const named = { name: textOf(use.name) ?? '', arguments: '' };
      return this.#delta({
        toolCalls: [{ index: call, id: textOf(use.toolUseId) ?? '', type: 'function', function: named }],
      });
    }
    const kind = use !== undefined ? 'server_tool_use' : result !== undefined ? 'tool_result' : 'other';
    this.#blocks.set(index, { kind, call: -1, said: false });
    if (use !== undefined) {
      const { input: _, ...block } = serverToolUse(use);
      return this.#own(index, block);
    }
    if (result !== undefined) return this.#own(index, serverToolResult(result));
    return image === undefined ? NONE : this.#images(image);
  }

  #piece(index: number, delta: JsonObject): readonly ChatCompletionChunk[] {
    const block = this.#blocks.get(index);
    if (typeof delta.text === 'string') {
      this.#text += delta.text.length;
      this.#hasText = true;
      return delta.text === '' ? NONE : this.#delta({ content: delta.text });
    }
    const input = textOf(objectOf(delta.toolUse)?.input);
    if (input !== undefined && block !== undefined) {
      block.said = true;
      if (block.kind === 'call')
        return this.#delta({ toolCalls: [{ index: block.call, function: { arguments: input } }] });
      return this.#own(index, { type: 'server_tool_use', partial_json: input });
    }
    if (Array.isArray(delta.toolResult))
      return this.#own(index, { type: 'tool_result', content: delta.toolResult });
    const thought = objectOf(delta.reasoningContent);
    if (thought !== undefined) return this.#thought(index, thought);
    const image = objectOf(delta.image);
    if (image !== undefined) return this.#images(image);
    const citation = objectOf(delta.citation);
    return citation === undefined ? NONE : this.#citation(index, citation);
  }

  #thought(index: number, thought: JsonObject): readonly ChatCompletionChunk[] {
    if (this.#strict) return NONE;
    const [text, signature] = [textOf(thought.text), textOf(thought.signature)];
    const data = textOf(thought.redactedContent);
    const block: JsonObject =
      data !== undefined
        ? { type: 'redacted_thinking', data }
        : {
            type: 'thinking',
            ...(text === undefined ? {} : { thinking: text }),
            ...(signature === undefined ? {} : { signature }),
          };
    return this.#delta({
      ...(text === undefined ? {} : { reasoningContent: text }),
      contentBlocks: [ownBlock(this.#json, { ...block, index })],
    });
  }

  #citation(index: number, citation: JsonObject): readonly ChatCompletionChunk[] {
    const found = annotation(citation, 0, this.#text);
    const chunks = found === undefined ? NONE : this.#delta({ extra: { annotations: [found] } });
    return [...chunks, ...this.#own(index, { type: 'citations', citations: [citation] })];
  }

  /** A call without input is "{}", as in the whole answer. */
  #ended(index: number): readonly ChatCompletionChunk[] {
    const block = this.#blocks.get(index);
    this.#blocks.delete(index);
    if (block?.kind !== 'call' || block.said) return NONE;
    return this.#delta({ toolCalls: [{ index: block.call, function: { arguments: '{}' } }] });
  }

  #finish(json: JsonObject): readonly ChatCompletionChunk[] {
    if (this.#finished) return NONE;
    this.#finished = true;
    const reason = finishReason(textOf(json.stopReason), this.#calls > 0, this.#strict);
    const own = this.#strict ? {} : ownMembers(json);
    // A text without words is "", as in the whole answer.
    const delta = this.#hasText && this.#text === 0 ? { content: '' } : {};
    return [this.#chunk({ choices: [{ index: 0, delta, finishReason: reason, extra: own }] })];
  }

  #metadata(json: JsonObject): readonly ChatCompletionChunk[] {
    const counts = objectOf(json.usage);
    if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
    return this.#finished ? this.#stop(json) : NONE;
  }

  /** The answer's last event; what counts the tokens comes after the finish. */
  #stop(json: JsonObject): readonly ChatCompletionChunk[] {
    this.#done = true;
    const tier = textOf(objectOf(json.serviceTier)?.type);
    this.#tier = tier;
    const usage = this.usage();
    if (!this.#includeUsage || typeof usage !== 'object') return NONE;
    const own = this.#strict ? {} : ownMembers(json);
    return [
      this.#chunk({
        choices: [],
        usage,
        ...(tier === undefined ? {} : { serviceTier: tier }),
        ...(Object.keys(own).length === 0 ? {} : { extra: own }),
      }),
    ];
  }

  #images(image: JsonObject): readonly ChatCompletionChunk[] {
    const images = imagesOf(image);
    return images.length === 0 ? NONE : this.#delta({ extra: { images } });
  }

  /** A piece of one of the provider's own blocks, for callers that are not strict. */
  #own(index: number, block: JsonObject): readonly ChatCompletionChunk[] {
    return this.#strict ? NONE : this.#delta({ contentBlocks: [ownBlock(this.#json, { ...block, index })] });
  }

  #delta(delta: Delta): readonly ChatCompletionChunk[] {
    return [...this.#before(delta), this.#chunk({ choices: [{ index: 0, delta }] })];
  }

  /** A stream that lacks its first event begins with a role all the same. */
  #before(delta: Delta): readonly ChatCompletionChunk[] {
    return this.#started || delta.role !== undefined ? NONE : this.#start();
  }

  #chunk(more: Chunk): ChatCompletionChunk {
    return create(ChatCompletionChunkSchema, { ...this.#head, ...more } as Chunk);
  }
}
