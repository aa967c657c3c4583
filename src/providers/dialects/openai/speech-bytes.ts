// The bytes of speech on their way: audio, or events that are read along for their report of usage.
import { create, type JsonObject } from '@bufbuild/protobuf';
import type { CreateSpeechRequest } from '../../../../gen/gateway/inference/v2/audio_pb.ts';
import { type BinaryAnswer, BinaryAnswerSchema } from '../../../../gen/gateway/inference/v2/common_pb.ts';
import { SseParser } from '../../../lib/sse.ts';
import type { AnswerHead, MessageJson, ProviderEntry, StreamTranslator } from '../../dialect.ts';
import { isObject, parsedObject } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { errorInside } from './error.ts';
import { headOf, mediaTypeOf, spoken } from './speech-answer.ts';

const NONE: readonly never[] = Object.freeze([]);
const TYPE = /^[\w!#$&^.+-]{1,64}\/[\w!#$&^.+-]{1,64}(?:\s*;[\x20-\x7e]{0,128})?$/;

/** One answer. */
export class SpeechBytes implements StreamTranslator<BinaryAnswer> {
  readonly #json: MessageJson;
  readonly #provider: ProviderEntry;
  readonly #request: CreateSpeechRequest;
  readonly #type: string;
  #events: SseParser | undefined;
  #counts: JsonObject | undefined;
  #begun = false;
  readonly done = false;

  constructor(json: MessageJson, provider: ProviderEntry, request: CreateSpeechRequest, answer?: AnswerHead) {
    this.#json = json;
    this.#provider = provider;
    this.#request = request;
    const type = answer?.header('content-type') ?? '';
    this.#type = TYPE.test(type) ? type : mediaTypeOf(request);
    if (/^text\/event-stream/i.test(type)) this.#events = new SseParser();
  }

  take(bytes: Uint8Array): readonly BinaryAnswer[] {
    this.#read(bytes);
    const value = bytes as Uint8Array<ArrayBuffer>;
    return [...this.#head(), create(BinaryAnswerSchema, { kind: { case: 'chunk', value } })];
  }

  push(): readonly BinaryAnswer[] {
    return NONE;
  }

  end(): readonly BinaryAnswer[] {
    return this.#head();
  }

  usage(): UsageReport {
    return (
      (this.#counts && readUsage(this.#json, this.#counts)) ??
      (this.#begun ? spoken(this.#request) : undefined)
    );
  }

  model(): string | undefined {
    return undefined;
  }

  #head(): readonly BinaryAnswer[] {
    if (this.#begun) return NONE;
    this.#begun = true;
    return [headOf(this.#type)];
  }

  /** @throws GatewayError the error that the first events tell, before any of them went on */
  #read(bytes: Uint8Array): void {
    if (this.#events === undefined) return;
    try {
      for (const { data } of this.#events.push(bytes)) {
        const event = data.includes('"usage"') || !this.#begun ? parsedObject(data) : undefined;
        if (event === undefined) continue;
        if (!this.#begun && isObject(event.error)) throw errorInside(event, this.#provider.id);
        this.#counts = usageIn(event) ?? this.#counts;
      }
    } catch (error) {
      this.#events = undefined;
      if (!this.#begun && error instanceof Error && 'reason' in error) throw error;
    }
  }
}
