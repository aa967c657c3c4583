// The events of a response from those who publish the API: passed on unchanged, unknown ones too.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type ResponseEvent,
  ResponseEventSchema,
} from '../../../../gen/gateway/inference/v2/responses_pb.ts';
import { fail, type GatewayError } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, ProviderEntry, StreamTranslator } from '../../dialect.ts';
import { errorInside, errorText, speaksOfError } from '../../dialects/openai/error.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { ResponseSearches, withSearches } from '../../usage/searches.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { failureOf } from './failure.ts';

const NONE: readonly never[] = Object.freeze([]);
/** Tells of the response itself, and nothing of what it says. */
const HEAD = /^response\.(?:created|in_progress|queued)$/;
const END = /^response\.(?:completed|incomplete|failed|cancelled)$/;

/** Reads the events of one answer. */
export class NativeEvents implements StreamTranslator<ResponseEvent> {
  readonly #json: MessageJson;
  readonly #provider: ProviderEntry;
  #usage: JsonObject | undefined;
  #model: string | undefined;
  #tier: string | undefined;
  readonly #searches = new ResponseSearches();
  #begun = false;
  /** Whether it has begun to say something. */
  #said = false;
  /** Whether it is told again: then a failure is what was asked for. */
  readonly #isKept: boolean;
  #done = false;
  #failure: GatewayError | undefined;

  /** @param isKept whether they are told again: then a failure is what was asked for */
  constructor(json: MessageJson, provider: ProviderEntry, isKept = false) {
    this.#json = json;
    this.#provider = provider;
    this.#isKept = isKept;
  }

  get done(): boolean {
    return this.#done;
  }

  push({ event, data }: SseEvent): readonly ResponseEvent[] {
    if (this.#done || data === '' || data.trim() === '' || data.trim() === '[DONE]') return NONE;
    const json = this.#parse(event, data);
    if (!isObject(json)) return NONE;
    const { type } = json;
    // Nearly every event is a piece of a text, and says nothing else.
    if (typeof type !== 'string' || !type.endsWith('.delta')) {
      if (type === 'error' || event === 'error' || speaksOfError(json)) throw this.#error(json);
      if (!this.#note(json, typeof type === 'string' ? type : '')) return NONE;
      if (this.#done && !this.#isKept) this.#failure = failureOf(objectOf(json.response), this.#provider.id);
      // Nothing has gone out: another target may answer.
      if (this.#failure !== undefined && !this.#said) throw this.#failure;
    }
    if (!this.#said && !(typeof type === 'string' && HEAD.test(type))) this.#said = true;
    const text = data.includes('\n') ? JSON.stringify(json) : data;
    const message = lazyMessage(ResponseEventSchema, () => this.#json.decode(ResponseEventSchema, json));
    return [attachRawJson(message, text)];
  }

  /** Whether the event goes on: an answer begins once. */
  #note(json: JsonObject, type: string): boolean {
    this.#searches.push(json);
    const response = objectOf(json.response);
    if (response === undefined) return true;
    this.#model = textOf(response.model) ?? this.#model;
    this.#tier = textOf(response.service_tier) ?? this.#tier;
    this.#usage = usageIn(json) ?? this.#usage;
    if (END.test(type)) this.#done = true;
    if (type !== 'response.created') return true;
    const first = !this.#begun;
    this.#begun = true;
    return first;
  }

  /** An `error` event has its words at its top, others in an object. */
  #error(json: JsonObject) {
    const { type: _, sequence_number: __, ...error } = json;
    return errorInside(isObject(json.error) ? json : { error }, this.#provider.id);
  }

  end(): readonly ResponseEvent[] {
    if (this.#done) return NONE;
    throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
      provider: this.#provider.id,
    });
  }

  failure(): GatewayError | undefined {
    return this.#failure;
  }

  usage(): UsageReport {
    const report = this.#usage && readUsage(this.#json, this.#usage, this.#provider.reasoning);
    return withSearches(report, this.#searches.count);
  }

  model(): string | undefined {
    return this.#model;
  }

  tier(): string | undefined {
    return this.#tier;
  }

  #parse(event: string | undefined, data: string): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#provider.id;
      if (event === 'error') throw errorText(data, provider);
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }
}
