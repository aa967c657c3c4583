// The events of ConverseStream from Bedrock itself: passed on unchanged, unknown ones too.
import type { JsonObject } from '@bufbuild/protobuf';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator } from '../../dialect.ts';
import { exceptionOf, isException } from '../../dialects/bedrock/error.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import type { UsageReport } from '../../usage/report.ts';
import { readUsage } from '../../usage/tap.ts';

const NONE: readonly never[] = Object.freeze([]);

/** Reads the events of one answer. */
export class NativeEvents<E> implements StreamTranslator<E> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #emit: (event: JsonObject) => E;
  #usage: JsonObject | undefined;
  #tier: string | undefined;
  #finished = false;
  #done = false;

  constructor(json: MessageJson, provider: string, emit: (event: JsonObject) => E) {
    this.#json = json;
    this.#provider = provider;
    this.#emit = emit;
  }

  get done(): boolean {
    return this.#done;
  }

  push(event: SseEvent): readonly E[] {
    if (this.#done) return NONE;
    if (isException(event)) throw exceptionOf(event, this.#provider);
    if (event.data.trim() === '' || event.event === 'initial-response') return NONE;
    const { p: _padding, ...payload } = this.#parse(event.data);
    if (event.event === 'messageStop') this.#finished = true;
    if (event.event === 'metadata') {
      this.#tier = textOf(objectOf(payload.serviceTier)?.type);
      const counts = objectOf(payload.usage);
      if (counts !== undefined) this.#usage = mergeUsage(this.#usage, counts);
      this.#done = this.#finished;
    }
    return [this.#emit({ [event.event]: payload })];
  }

  end(): readonly E[] {
    if (!this.#done && !this.#finished)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    this.#done = true;
    return NONE;
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

  #parse(data: string): JsonObject {
    const provider = this.#provider;
    let json: unknown;
    try {
      json = JSON.parse(data);
    } catch (cause) {
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
    if (isObject(json)) return json;
    throw fail('upstream_garbage', "an event of the provider's stream is not an object", { provider });
  }
}
