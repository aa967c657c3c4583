// The events of images: unfinished ones, then the finished one of each image with the usage of the call.
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  CreateImageRequest,
  ImageEvent,
  ImageEventSchema,
} from '../../../../gen/gateway/inference/v2/images_pb.ts';
import { fail } from '../../../lib/errors.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson } from '../../../lib/raw-json.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, ProviderEntry, StreamTranslator } from '../../dialect.ts';
import { imagesUsage } from '../../images.ts';
import { isObject } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { errorInside, errorText, speaksOfError } from './error.ts';

const NONE: readonly never[] = Object.freeze([]);

/** What of a request decides how its images are priced. */
export type AskedImages = Pick<CreateImageRequest, 'model' | 'n' | 'quality' | 'size' | 'prompt'>;

/** Reads the events of one answer. */
export class ImageStream implements StreamTranslator<ImageEvent> {
  readonly #json: MessageJson;
  readonly #schema: typeof ImageEventSchema;
  readonly #provider: ProviderEntry;
  readonly #request: AskedImages;
  #finished = 0;
  #last: JsonObject = {};
  #done = false;

  constructor(
    json: MessageJson,
    schema: typeof ImageEventSchema,
    provider: ProviderEntry,
    request: AskedImages,
  ) {
    this.#json = json;
    this.#schema = schema;
    this.#provider = provider;
    this.#request = request;
  }

  get done(): boolean {
    return this.#done;
  }

  push({ event, data }: SseEvent): readonly ImageEvent[] {
    if (this.#done || data.trim() === '') return NONE;
    if (data.trim() === '[DONE]') {
      this.#done = true;
      return NONE;
    }
    const json = this.#parse(event, data);
    if (!isObject(json)) return NONE;
    if (event === 'error' || json.type === 'error' || speaksOfError(json))
      throw errorInside(isObject(json.error) ? json : { error: json }, this.#provider.id);
    if (typeof json.type === 'string' && json.type.endsWith('.completed')) {
      this.#finished++;
      this.#last = json;
    }
    const message = lazyMessage(this.#schema, () => this.#json.decode(this.#schema, json));
    return [attachRawJson(message, data.includes('\n') ? JSON.stringify(json) : data)];
  }

  /** Providers end without a word: one finished image at least makes an answer. */
  end(): readonly ImageEvent[] {
    if (this.#finished === 0 && !this.#done)
      throw fail('upstream_interrupted', "the provider's stream ended before the image did", {
        provider: this.#provider.id,
      });
    this.#done = true;
    return NONE;
  }

  usage(): UsageReport {
    if (this.#finished === 0) return undefined;
    return imagesUsage(
      this.#json,
      { ...this.#last, data: new Array(this.#finished).fill({}) },
      this.#request,
    );
  }

  model(): string | undefined {
    const { model } = this.#last;
    return typeof model === 'string' && model !== '' ? model : undefined;
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
