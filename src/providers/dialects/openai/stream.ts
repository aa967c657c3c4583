// One streamed answer: a small state machine over chunks that are passed on as they
// are, for chat and text completions alike. It is lenient about everything but errors:
// frames that it does not understand pass.
import type { DescMessage, JsonObject, MessageShape } from '@bufbuild/protobuf';
import { fail } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import { RunShape, ShapedRun } from '../../../lib/shaped-run.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, ProviderEntry, StreamTranslator } from '../../dialect.ts';
import { isObject } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import type { Repeat } from '../../repeat.ts';
import type { UsageReport } from '../../usage/report.ts';
import { chatSearches, withSearches } from '../../usage/searches.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { StreamedChoices } from './choices.ts';
import { errorInside, errorText, faultOf, isBareError, speaksOfError } from './error.ts';
import { removedMember } from './removed-member.ts';
import { aroundText, repeatedText } from './repeated-text.ts';

const NONE: readonly never[] = Object.freeze([]);

/** What a stream's translator must know. */
export interface StreamSettings<D extends DescMessage> {
  readonly json: MessageJson;
  readonly schema: D;
  readonly provider: ProviderEntry;
  /** OpenAI's members only. */
  readonly strict: boolean;
  /** Whether the gateway asked for usage that the caller did not ask for, and must keep it from the caller. */
  readonly hideUsage: boolean;
}

/** Translates the events of one answer. */
export class OpenAiStream<D extends DescMessage> implements StreamTranslator<MessageShape<D>> {
  readonly #settings: StreamSettings<D>;
  #usage: JsonObject | undefined;
  #model: string | undefined;
  #tier: string | undefined;
  #done = false;
  readonly #choices: StreamedChoices;
  /** The last chunk had usage and no choices. */
  #usageLast = false;
  /** The last chunk, as the template of a finish chunk that the provider omits. */
  #last: JsonObject | undefined;
  /** The last event, where it was a chunk that others may repeat, and what was passed on of it. */
  #plain: { readonly data: string; readonly json: JsonObject; readonly text: string } | undefined;

  constructor(settings: StreamSettings<D>) {
    this.#settings = settings;
    this.#choices = new StreamedChoices(settings.strict, isChunks(settings.schema));
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly MessageShape<D>[] {
    this.#plain = undefined;
    if (this.#done) return NONE;
    const { data } = event;
    if (data === '[DONE]' || data.trim() === '[DONE]') {
      this.#done = true;
      if (!this.#choices.begun && this.#usage === undefined)
        throw fail('upstream_garbage', "the provider's stream ended without an answer", {
          provider: this.#settings.provider.id,
        });
      return this.#finishes();
    }
    const json = this.#parse(event);
    if (!isObject(json) || isEmpty(json)) return NONE;
    const fault = speaksOfError(json) || event.event === 'error' || isBareError(json) ? json : faultOf(json);
    if (fault !== undefined) {
      // What was answered before is paid, and may be counted with the error (OpenRouter).
      this.#count(json);
      throw errorInside(fault, this.#settings.provider.id);
    }
    const isMended = this.#watch(json);
    const text = isMended ? JSON.stringify(json) : data;
    const isPlain = !isMended && event.event === 'message' && !isObject(json.usage);
    if (this.#settings.hideUsage && Object.hasOwn(json, 'usage'))
      return this.#withoutUsage(json, text, isPlain);
    if (isPlain) this.#plain = { data, json, text };
    return [this.#chunk(json, text)];
  }

  repeat(): Repeat<MessageShape<D>> | undefined {
    const plain = this.#plain;
    if (plain === undefined || !isChunks(this.#settings.schema)) return undefined;
    const { data, json, text } = plain;
    const source = aroundText(data, json);
    if (source === undefined) return undefined;
    const read = (one: string): MessageShape<D> => this.#chunk(JSON.parse(one), one);
    const pattern = repeatedText(source, json);
    const around = text === data ? source : aroundText(text, json);
    if (around === undefined) return undefined;
    const own = text === data ? pattern : repeatedText(around, json);
    if (own.holes.length !== pattern.holes.length) return undefined;
    const shape = RunShape.same(own, read);
    return { pattern, run: (found) => new ShapedRun(shape, found, 0, text === data) };
  }

  end(): readonly MessageShape<D>[] {
    if (this.#done) return NONE;
    // Without a finish and without [DONE], only a chunk with nothing but usage shows that the answer is complete.
    if (!this.#choices.complete && !this.#usageLast) {
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#settings.provider.id,
      });
    }
    this.#done = true;
    return this.#finishes();
  }

  usage(): UsageReport {
    const { json, provider } = this.#settings;
    const report = this.#usage && readUsage(json, this.#usage, provider.reasoning);
    return withSearches(report, chatSearches(this.#usage, this.#model));
  }

  model(): string | undefined {
    return this.#model;
  }

  tier(): string | undefined {
    return this.#tier;
  }

  #parse({ event, data }: SseEvent): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#settings.provider.id;
      if (event === 'error') throw errorText(data, provider);
      if (data.trim() === '') return undefined;
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }

  /** Takes note of a chunk, and mends it in place; whether it is another one now. */
  #watch(json: JsonObject): boolean {
    if (typeof json.service_tier === 'string') this.#tier = json.service_tier;
    if (typeof json.model === 'string' && json.model !== '') this.#model = json.model;
    this.#usageLast = this.#count(json) && !(Array.isArray(json.choices) && json.choices.length > 0);
    if (Array.isArray(json.choices) && json.choices.length > 0) this.#last = json;
    return this.#choices.watch(json);
  }

  /** Takes note of the counts; whether there are any. */
  #count(json: JsonObject): boolean {
    const usage = usageIn(json);
    if (usage !== undefined) this.#usage = mergeUsage(this.#usage, usage);
    return usage !== undefined;
  }

  /** The finish of choices whose provider does not send one: clients wait for it. */
  #finishes(): readonly MessageShape<D>[] {
    const unfinished = this.#choices.unfinished();
    if (unfinished.length === 0) return NONE;
    const { usage: _, choices: __, ...head } = this.#last ?? {};
    const { schema } = this.#settings;
    return unfinished.map(({ index, reason }) => {
      const empty: JsonObject = isChunks(schema) ? { delta: {} } : { text: '' };
      const json = { ...head, choices: [{ index, ...empty, finish_reason: reason }] };
      return this.#chunk(json, JSON.stringify(json));
    });
  }

  /** The usage that only the gateway asked for: its own chunk is dropped, the member taken out of others. */
  #withoutUsage(json: JsonObject, data: string, isPlain: boolean): readonly MessageShape<D>[] {
    if (isObject(json.usage) && Array.isArray(json.choices) && json.choices.length === 0) return NONE;
    delete json.usage;
    const text = removedMember(data, 'usage') ?? JSON.stringify(json);
    if (isPlain) this.#plain = { data, json, text };
    return [this.#chunk(json, text)];
  }

  #chunk(json: JsonObject, data: string): MessageShape<D> {
    const { schema, json: codec } = this.#settings;
    const chunk = lazyMessage(schema, () => codec.decode(schema, json));
    // Text of several lines would have to be cut into several data lines again.
    return data.includes('\n') ? chunk : attachRawJson(chunk, data);
  }
}

/** Whether the pieces are those of messages; else they are texts. */
function isChunks({ typeName }: DescMessage): boolean {
  return typeName.endsWith('Chunk');
}

/** A sign of life. */
function isEmpty(json: JsonObject): boolean {
  for (const name in json) return name === 'type' && json.type === 'ping';
  return true;
}
