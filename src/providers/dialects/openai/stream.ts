// One streamed answer: a small state machine over chunks that are passed on as they
// are, for chat and text completions alike. It is lenient about everything but errors:
// frames that it does not understand pass.
import type { DescMessage, JsonObject, MessageShape } from '@bufbuild/protobuf';
import type { Usage } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { fail } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { errorInside, errorText, speaksOfError } from './error.ts';
import { removedMember } from './removed-member.ts';
import { readUsage, usageIn } from './usage.ts';

const NONE: readonly never[] = Object.freeze([]);

/** What a stream's translator must know. */
export interface StreamSettings<D extends DescMessage> {
  readonly json: MessageJson;
  readonly schema: D;
  /** The provider's identifier, for errors. */
  readonly provider: string;
  /** Whether the gateway asked for usage that the caller did not ask for, and must keep it from the caller. */
  readonly hideUsage: boolean;
}

/** Translates the events of one answer. */
export class OpenAiStream<D extends DescMessage> implements StreamTranslator<MessageShape<D>> {
  readonly #settings: StreamSettings<D>;
  #usage: JsonObject | undefined;
  #model: string | undefined;
  #done = false;
  /** Choices that have begun, and those of them that have given their finish reason. */
  readonly #begun = new Set<number>();
  readonly #finished = new Set<number>();

  constructor(settings: StreamSettings<D>) {
    this.#settings = settings;
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly MessageShape<D>[] {
    if (this.#done) return NONE;
    const { data } = event;
    if (data === '[DONE]' || data.trim() === '[DONE]') {
      this.#done = true;
      return NONE;
    }
    const json = this.#parse(event);
    if (!isObject(json)) return NONE;
    if (speaksOfError(json) || event.event === 'error') throw errorInside(json, this.#settings.provider);
    this.#watch(json);
    return this.#settings.hideUsage && Object.hasOwn(json, 'usage')
      ? this.#withoutUsage(json, data)
      : [this.#chunk(json, data)];
  }

  end(): readonly MessageShape<D>[] {
    if (this.#done) return NONE;
    if (this.#finished.size === 0 || this.#finished.size < this.#begun.size) {
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#settings.provider,
      });
    }
    this.#done = true;
    return NONE;
  }

  usage(): Usage | undefined {
    return this.#usage && readUsage(this.#settings.json, this.#usage);
  }

  model(): string | undefined {
    return this.#model;
  }

  #parse({ event, data }: SseEvent): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const { provider } = this.#settings;
      if (event === 'error') throw errorText(data, provider);
      if (data.trim() === '') return undefined;
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  #watch(json: JsonObject): void {
    if (typeof json.model === 'string' && json.model !== '') this.#model = json.model;
    const usage = usageIn(json);
    if (usage !== undefined) this.#usage = mergeUsage(this.#usage, usage);
    if (!Array.isArray(json.choices)) return;
    for (const choice of json.choices) {
      if (!isObject(choice)) continue;
      const index = typeof choice.index === 'number' ? choice.index : 0;
      this.#begun.add(index);
      if (typeof choice.finish_reason === 'string') this.#finished.add(index);
    }
  }

  /** The usage that only the gateway asked for: its own chunk is dropped, the member taken out of others. */
  #withoutUsage(json: JsonObject, data: string): readonly MessageShape<D>[] {
    if (isObject(json.usage) && Array.isArray(json.choices) && json.choices.length === 0) return NONE;
    delete json.usage;
    return [this.#chunk(json, removedMember(data, 'usage') ?? JSON.stringify(json))];
  }

  #chunk(json: JsonObject, data: string): MessageShape<D> {
    const { schema, json: codec } = this.#settings;
    const chunk = lazyMessage(schema, () => codec.decode(schema, json));
    // Text of several lines would have to be cut into several data lines again.
    return data.includes('\n') ? chunk : attachRawJson(chunk, data);
  }
}
