// InvokeModel with Bedrock itself: bodies of any form, as they came.
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  InvokeModelEvent,
  InvokeModelRequest,
  InvokeModelResponse,
} from '../../../../gen/gateway/inference/v2/bedrock_pb.ts';
import { fail } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { SseEvent } from '../../../lib/sse.ts';
import type { MessageJson, Outbound, StreamingOperation, StreamTranslator, UsageTap } from '../../dialect.ts';
import { exceptionOf, isException } from '../../dialects/bedrock/error.ts';
import { modelSegment } from '../../dialects/bedrock/model-id.ts';
import { readObject } from '../../dialects/bedrock/response.ts';
import { isObject, objectOf, parsedObject, textOf } from '../../json-object.ts';
import type { UsageReport } from '../../usage/report.ts';
import { tapUsage } from '../../usage/tap.ts';
import { withoutKept } from '../messages/kept.ts';
import { answerOf, bodyOf, eventOf, invokeEvents } from './invoke-form.ts';
import { JSON_HEADERS } from './native.ts';

/** The operation over the given JSON. */
export function nativeInvoke(
  json: MessageJson,
): StreamingOperation<InvokeModelRequest, InvokeModelResponse, InvokeModelEvent> {
  const call = (request: InvokeModelRequest, verb: string): Outbound => {
    const { model: _, ...body } = bodyOf(json, request);
    const path = `/model/${modelSegment(request.model ?? '')}/${verb}`;
    return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(withoutKept(body)) };
  };
  return {
    request: (request) => call(request, 'invoke'),
    streamRequest: (request) => call(request, 'invoke-with-response-stream'),
    response(body, _request, context) {
      const object = readObject(body, context);
      const tap = tapUsage(json, context.target.provider);
      tap.push(object);
      return { answer: answerOf(json, object), usage: tap.usage(), model: textOf(object.model) };
    },
    stream: (_request, { target: { provider } }) => new Pieces(json, provider.id, tapUsage(json, provider)),
    wholeAsChunks: (answer) => invokeEvents(json, answer),
  };
}

const NONE: readonly never[] = Object.freeze([]);

/** Reads the frames of one answer: `{"bytes": <Base64 of the model's own event>}`. */
class Pieces implements StreamTranslator<InvokeModelEvent> {
  readonly #json: MessageJson;
  readonly #provider: string;
  readonly #tap: UsageTap;
  #model: string | undefined;
  #ended = false;

  constructor(json: MessageJson, provider: string, tap: UsageTap) {
    this.#json = json;
    this.#provider = provider;
    this.#tap = tap;
  }

  /** Models end their streams in different ways; the last event has the metrics of the call. */
  get done(): boolean {
    return false;
  }

  push(event: SseEvent): readonly InvokeModelEvent[] {
    if (isException(event)) throw exceptionOf(event, this.#provider);
    if (event.event !== 'chunk') return NONE;
    const bytes = textOf(parsedObject(event.data)?.bytes);
    const json =
      bytes === undefined ? undefined : parsedObject(Buffer.from(bytes, 'base64').toString('utf8'));
    if (json === undefined)
      throw fail('upstream_garbage', "an event of the provider's stream is not JSON", {
        provider: this.#provider,
      });
    this.#tap.push(json);
    this.#model = textOf(objectOf(json.message)?.model) ?? textOf(json.model) ?? this.#model;
    if (isEnd(json)) this.#ended = true;
    return [eventOf(this.#json, json)];
  }

  end(): readonly InvokeModelEvent[] {
    if (this.#ended) return NONE;
    throw fail('upstream_interrupted', "the provider's stream ended before the answer did", {
      provider: this.#provider,
    });
  }

  usage(): UsageReport {
    return this.#tap.usage();
  }

  model(): string | undefined {
    return this.#model;
  }
}

function isEnd(json: JsonObject): boolean {
  return (
    isObject(json['amazon-bedrock-invocationMetrics']) ||
    json.type === 'message_stop' ||
    isObject(json.metadata) ||
    textOf(json.stop_reason) !== undefined ||
    textOf(json.completionReason) !== undefined ||
    (Array.isArray(json.choices) &&
      json.choices.some((one) => isObject(one) && textOf(one.finish_reason) !== undefined))
  );
}
