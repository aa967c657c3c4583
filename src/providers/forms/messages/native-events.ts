// The events of a message from those who speak so: passed on unchanged, unknown ones too; their usage is folded.
import type { JsonObject } from '@bufbuild/protobuf';
import type { MessageEvent } from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, StreamTranslator } from '../../dialect.ts';
import { errorInside, speaksOfError } from '../../dialects/anthropic/error.ts';
import { readBegun, readUsage, usageIn } from '../../dialects/anthropic/usage.ts';
import { isObject, objectOf, textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { clip } from '../../provider-error.ts';
import type { UsageReport } from '../../usage/report.ts';
import { eventOf } from './events.ts';

const NONE: readonly never[] = Object.freeze([]);

/** Reads the events of one answer. */
export class NativeEvents implements StreamTranslator<MessageEvent> {
  readonly #json: MessageJson;
  readonly #provider: string;
  #usage: JsonObject | undefined;
  #model: string | undefined;
  /** The reason why the message ended was told: what follows is only its end. */
  #told = false;
  #done = false;

  constructor(json: MessageJson, provider: string) {
    this.#json = json;
    this.#provider = provider;
  }

  get done(): boolean {
    return this.#done;
  }

  push({ event, data }: SseEvent): readonly MessageEvent[] {
    if (this.#done || data === '' || data.trim() === '') return NONE;
    const json = this.#parse(event, data);
    if (!isObject(json)) return NONE;
    const { type } = json;
    // Nearly every event is a piece of a block, and says nothing else.
    if (type !== 'content_block_delta') {
      if (speaksOfError(json) || event === 'error') throw errorInside(json, this.#provider);
      this.#note(json);
    }
    return [eventOf(this.#json, json, data.includes('\n') ? JSON.stringify(json) : data)];
  }

  #note(json: JsonObject): void {
    const usage = usageIn(json);
    if (usage !== undefined) this.#usage = mergeUsage(this.#usage, usage);
    switch (json.type) {
      case 'message_start':
        this.#model = textOf(objectOf(json.message)?.model) ?? this.#model;
        break;
      case 'message_delta':
        this.#told = this.#told || textOf(objectOf(json.delta)?.stop_reason) !== undefined;
        break;
      case 'message_stop':
        this.#done = true;
        break;
      default:
    }
  }

  end(): readonly MessageEvent[] {
    if (this.#done) return NONE;
    if (!this.#told)
      throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
        provider: this.#provider,
      });
    this.#done = true;
    return [eventOf(this.#json, { type: 'message_stop' })];
  }

  usage(): UsageReport {
    return this.#usage && (this.#told || this.#done ? readUsage : readBegun)(this.#usage, false);
  }

  model(): string | undefined {
    return this.#model;
  }

  tier(): string | undefined {
    return textOf(this.#usage?.service_tier);
  }

  #parse(event: string | undefined, data: string): unknown {
    try {
      return JSON.parse(data);
    } catch (cause) {
      const provider = this.#provider;
      if (event === 'error') throw fail('upstream_status', clip(data), { provider, status: 502, cause });
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", { provider, cause });
    }
  }
}
