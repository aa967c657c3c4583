// The pieces of an answer from those who speak so: passed on unchanged; their usage is folded.
import type { JsonObject } from '@bufbuild/protobuf';
import type { GenerateContentResponse } from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator } from '../../dialect.ts';
import { errorInside, speaksOfError } from '../../dialects/gemini/error.ts';
import { arrayOf, isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import type { UsageReport } from '../../usage/report.ts';
import { GeminiSearches, withSearches } from '../../usage/searches.ts';
import { readUsage } from '../../usage/tap.ts';
import { written } from './answer.ts';

const NONE: readonly never[] = Object.freeze([]);

/** Reads the events of one answer. */
export class NativeResponses implements StreamTranslator<GenerateContentResponse> {
  readonly #json: MessageJson;
  readonly #provider: string;
  #usage: JsonObject | undefined;
  #model: string | undefined;
  readonly #searches = new GeminiSearches();
  /** Answers that began and have not ended. */
  readonly #open = new Set<number>();
  #begun = false;
  #done = false;

  constructor(json: MessageJson, provider: string) {
    this.#json = json;
    this.#provider = provider;
  }

  /** There is no terminal event: a piece after the reason may still count tokens. */
  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly GenerateContentResponse[] {
    const data = event.data.trim();
    if (this.#done || data === '' || data === '[DONE]') return NONE;
    const json = this.#parse(event);
    return (Array.isArray(json) ? json : [json]).filter(isObject).map((object) => {
      if (speaksOfError(object)) throw errorInside(object, this.#provider);
      this.#note(object);
      return written(this.#json, object);
    });
  }

  #note(json: JsonObject): void {
    this.#model = textOf(json.modelVersion) ?? this.#model;
    this.#searches.push(json);
    const counts = objectOf(json.usageMetadata);
    if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
    if (textOf(objectOf(json.promptFeedback)?.blockReason) !== undefined) this.#begun = true;
    for (const candidate of arrayOf(json.candidates)) {
      if (!isObject(candidate)) continue;
      this.#begun = true;
      const index = typeof candidate.index === 'number' ? candidate.index : 0;
      const reason = textOf(candidate.finishReason);
      if (reason === undefined || reason === 'FINISH_REASON_UNSPECIFIED') this.#open.add(index);
      else this.#open.delete(index);
    }
  }

  end(): readonly GenerateContentResponse[] {
    if (this.#done) return NONE;
    if (!this.#begun || this.#open.size > 0)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    this.#done = true;
    return NONE;
  }

  usage(): UsageReport {
    return withSearches(this.#usage && readUsage(this.#json, this.#usage), this.#searches.count(this.#model));
  }

  model(): string | undefined {
    return this.#model;
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
}
