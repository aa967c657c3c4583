// Text completions (Triton Inference Server, "Generate Extension"): POST /v2/models/{model}/generate and generate_stream.
import { create, type JsonObject, type JsonValue } from '@bufbuild/protobuf';
import {
  type Completion,
  CompletionSchema,
  type CreateCompletionRequest,
} from '../../../../gen/gateway/inference/v2/completions_pb.ts';
import { fail, invalidField, type Violation, validationFailed } from '../../../lib/errors.ts';
import type { Outbound, StreamingOperation, TranslationContext } from '../../dialect.ts';
import { given, textOf } from '../../json-object.ts';
import { pathSegment } from '../../path-segment.ts';
import { completionAsChunks } from '../../whole-as-chunks.ts';
import { readObject } from '../openai/response.ts';
import { completionHead } from './head.ts';
import { TritonStream } from './stream.ts';

const JSON_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
const SSE_TYPES = Object.freeze(['content-type', 'application/json', 'accept', 'text/event-stream']);

/** The operation. Its answers count no tokens, so that usage is estimated. */
export function completions(): StreamingOperation<CreateCompletionRequest, Completion, Completion> {
  return {
    request: (request, context) => call(request, context, false),
    streamRequest: (request, context) => call(request, context, true),
    response(body, request, context) {
      const whole = readObject(body, context);
      const { text_output: text } = whole;
      if (typeof text !== 'string')
        throw fail('upstream_garbage', 'the provider answered without text_output', {
          provider: context.target.provider.id,
        });
      const model = textOf(whole.model_name);
      const answer = create(CompletionSchema, {
        ...completionHead(context, model ?? request.model ?? ''),
        choices: [{ index: 0, text, finishReason: 'stop' }],
      });
      return { answer, usage: undefined, model };
    },
    stream: (request, context) => new TritonStream(context, request.model ?? ''),
    wholeAsChunks: (answer, request) =>
      completionAsChunks(answer, request.streamOptions?.includeUsage === true),
  };
}

/** @throws GatewayError `validation_failed` with what the server cannot express. */
function call(request: CreateCompletionRequest, { target }: TranslationContext, stream: boolean): Outbound {
  refuse(request);
  const kind = request.prompt?.kind;
  const texts = kind?.case === 'text' ? [kind.value] : kind?.case === 'texts' ? kind.value.values : [];
  const [text] = texts;
  if (text === undefined || texts.length > 1)
    throw invalidField('prompt', 'must be one text with this provider');
  const stops = request.stop?.kind;
  const members: Readonly<Record<string, JsonValue | undefined>> = {
    text_input: text,
    max_tokens: request.maxTokens === undefined ? undefined : Number(request.maxTokens),
    temperature: request.temperature,
    top_p: request.topP,
    frequency_penalty: request.frequencyPenalty,
    presence_penalty: request.presencePenalty,
    random_seed: request.seed,
    stop_words:
      stops?.case === 'text' ? [stops.value] : stops?.case === 'texts' ? [...stops.value.values] : undefined,
    stream,
  };
  const body = Object.fromEntries(
    Object.entries(members).filter((pair): pair is [string, JsonValue] => pair[1] !== undefined),
  ) as JsonObject;
  const verb = stream ? 'generate_stream' : 'generate';
  // A custom host may name the model already.
  const isNamed = /\/models\/[^/]+(?:\/versions\/[^/]+)?\/?$/.test(target.customHost ?? '');
  const path = isNamed ? `/${verb}` : `/v2/models/${pathSegment(request.model ?? '')}/${verb}`;
  return {
    method: 'POST',
    path,
    headers: stream ? SSE_TYPES : JSON_TYPES,
    body: JSON.stringify({ ...body, ...given(request.extra) }),
  };
}

function refuse(request: CreateCompletionRequest): void {
  const asked: Readonly<Record<string, boolean>> = {
    n: (request.n ?? 1) > 1,
    best_of: (request.bestOf ?? 1) > 1,
    logprobs: (request.logprobs ?? 0) > 0,
    echo: request.echo === true,
    suffix: (request.suffix ?? '') !== '',
    logit_bias: Object.keys(request.logitBias).length > 0,
  };
  const violations = Object.entries(asked).flatMap(([field, is]): Violation[] =>
    is ? [{ field, rule: 'unsupported', message: 'is not supported by this provider' }] : [],
  );
  if (violations.length > 0) throw validationFailed(violations);
}
