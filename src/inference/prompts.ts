// Saved prompts, run as the chat or text completions that they become.
import { create, type DescMethod, type JsonObject as StructJson } from '@bufbuild/protobuf';
import type { ChatCompletion } from '../../gen/gateway/inference/v2/chat_pb.ts';
import type { Completion } from '../../gen/gateway/inference/v2/completions_pb.ts';
import {
  type CreatePromptCompletionRequest,
  CreatePromptCompletionRequestSchema,
  type PromptCompletion,
  PromptCompletionBodySchema,
  type PromptCompletionChunk,
  PromptCompletionChunkSchema,
  PromptCompletionEnvelopeSchema,
  PromptCompletionSchema,
  PromptCompletionsService,
} from '../../gen/gateway/inference/v2/prompts_pb.ts';
import type { Call } from '../call/call.ts';
import { fail } from '../lib/errors.ts';
import { readNow } from '../lib/lazy-message.ts';
import { attachRawJson, jsonText, rawJsonOf } from '../lib/raw-json.ts';
import type { PromptCatalogue } from '../prompts/prompt-catalogue.ts';
import {
  extraParameters,
  type MessageRules,
  type RequestMessage,
  requestMessage,
} from '../prompts/request-message.ts';
import { codec } from '../rest/codec.ts';
import { isFaithful } from '../rest/faithful-json.ts';
import type { JsonObject } from '../store/collection.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runStream, runWhole } from './pipeline/run.ts';

/** What the service needs in addition to the pipeline. */
export interface PromptsDeps {
  readonly book: PromptCatalogue;
  readonly messageRules: MessageRules;
}

/** A prompt's request. */
type Prepared = RequestMessage & {
  /** As planning reads it: with the prompt's stored provider before it. */
  readonly model: string | undefined;
  /** Of the request's JSON. */
  readonly bytes: number;
  readonly slug: string;
  readonly version: number;
};

/** What a call will ask of a model, known before it is admitted. */
export interface Foreseen {
  readonly bytes: number;
  readonly request: object;
  readonly model: string | undefined;
  /** What the call's metadata gains. */
  readonly metadata: Readonly<Record<string, string>>;
}

interface PromptCompletionMethods {
  createPromptCompletion(request: CreatePromptCompletionRequest, call: Call): Promise<PromptCompletion>;
  streamPromptCompletion(
    request: CreatePromptCompletionRequest,
    call: Call,
  ): Promise<AsyncIterable<PromptCompletionChunk>>;
}

/** The service, and what limits ask of it. */
export interface PromptRuns {
  /** The methods of PromptCompletionsService. */
  readonly service: PromptCompletionMethods;
  /** Undefined for methods of other services. @throws GatewayError not_found, validation_failed, model_missing */
  foresee(method: DescMethod, input: object, call: Call): Promise<Foreseen> | undefined;
}

/** Runs saved prompts. */
export function promptRuns(pipeline: Pipeline, deps: PromptsDeps): PromptRuns {
  const known = new WeakMap<Call, Promise<Prepared>>();
  /** A prompt is filled in once: what was admitted is what runs. */
  const prepared = (request: CreatePromptCompletionRequest, call: Call, stream: boolean) => {
    const promise = known.get(call) ?? prepare(deps, request, call, stream);
    known.set(call, promise);
    return promise;
  };

  async function createPromptCompletion(
    request: CreatePromptCompletionRequest,
    call: Call,
  ): Promise<PromptCompletion> {
    const { operation, message, model, slug, version } = await prepared(request, call, false);
    call.defaultMetadata = { ...call.defaultMetadata, _prompt: slug };
    call.record.prompt = slug;
    call.record.promptVersion = version;
    if (operation === 'chat')
      return answered(call, 'chat', await runWhole(pipeline, call, operation, message, model));
    return answered(call, 'text', await runWhole(pipeline, call, operation, message, model));
  }

  async function streamPromptCompletion(
    request: CreatePromptCompletionRequest,
    call: Call,
  ): Promise<AsyncIterable<PromptCompletionChunk>> {
    const { operation, message, model, slug, version } = await prepared(request, call, true);
    call.defaultMetadata = { ...call.defaultMetadata, _prompt: slug };
    call.record.prompt = slug;
    call.record.promptVersion = version;
    if (operation === 'chat')
      return pieces('chat', await runStream(pipeline, call, operation, message, model));
    return pieces('text', await runStream(pipeline, call, operation, message, model));
  }

  return {
    service: { createPromptCompletion, streamPromptCompletion },
    foresee(method, input, call) {
      if (method.parent.typeName !== PromptCompletionsService.typeName) return undefined;
      const stream = method.methodKind === 'server_streaming';
      return prepared(input as CreatePromptCompletionRequest, call, stream).then(
        ({ message, bytes, slug }) => ({
          bytes,
          request: message,
          model: message.model,
          metadata: { _prompt: slug },
        }),
      );
    },
  };
}

/** @throws GatewayError not_found, validation_failed, model_missing */
async function prepare(
  { book, messageRules }: PromptsDeps,
  request: CreatePromptCompletionRequest,
  call: Call,
  stream: boolean,
): Promise<Prepared> {
  const { principal } = call;
  if (principal?.workspaceId === undefined) throw fail('forbidden', "a workspace's key is needed");
  const given = extraParameters(codec.encode(CreatePromptCompletionRequestSchema, request) as JsonObject);
  const { organisationId, workspaceId } = principal;
  const filled = await book.fill({ organisationId, workspaceId }, request.promptId, {
    variables: request.variables,
    parameters: given,
  });
  const { json, virtualKey } = filled;
  // Whether the answer comes in pieces is the call's to say; so are then the options of that.
  if (stream) json.stream = true;
  else {
    delete json.stream;
    if (!Object.hasOwn(given, 'stream_options')) delete json.stream_options;
  }
  const prepared = requestMessage(filled, messageRules);
  const text = JSON.stringify(json);
  const bytes = Buffer.from(text);
  if (isFaithful(text)) attachRawJson(prepared.message, bytes);
  const { model } = prepared.message;
  const described = { ...prepared, bytes: bytes.length, slug: filled.slug, version: filled.version };
  if (virtualKey === undefined || model?.startsWith('@')) return { ...described, model };
  if (model === undefined)
    throw fail('model_missing', 'model: is required', {
      param: 'model',
      violations: [{ field: 'model', rule: 'required', message: 'neither the prompt nor the call says it' }],
    });
  return { ...described, model: `@${virtualKey}/${model}` };
}

type Answer =
  | { readonly case: 'chat'; readonly value: ChatCompletion }
  | { readonly case: 'text'; readonly value: Completion };

function answered(call: Call, form: 'chat', value: ChatCompletion): PromptCompletion;
function answered(call: Call, form: 'text', value: Completion): PromptCompletion;
/** In the specification's envelope; for callers under an alias of the header prefix bare, as their SDKs read it. */
function answered(call: Call, form: 'chat' | 'text', value: ChatCompletion | Completion): PromptCompletion {
  const raw = rawJsonOf(value);
  if (call.source.protocol !== 'rest') readNow(value);
  const answer = { case: form, value } as Answer;
  const { callerPrefix, names } = call.headers;
  if (callerPrefix !== names.canonical) {
    const bare = create(PromptCompletionSchema, { profile: answer });
    return raw === undefined ? bare : attachRawJson(bare, raw);
  }
  const headers = headersOf(call);
  const body = create(PromptCompletionBodySchema, { kind: answer });
  const envelope = create(PromptCompletionEnvelopeSchema, { status: 'success', headers, body });
  const whole = create(PromptCompletionSchema, { profile: { case: 'envelope', value: envelope } });
  if (raw === undefined) return whole;
  return attachRawJson(
    whole,
    `{"status":"success","headers":${JSON.stringify(headers)},"body":${jsonText(raw)}}`,
  );
}

/** The gateway's own headers of the answer. */
function headersOf({ id, traceId, record, answerHeaders, headers }: Call): StructJson {
  const prefix = headers.names.canonical;
  return {
    [`${prefix}request-id`]: id,
    [`${prefix}trace-id`]: traceId,
    [`${prefix}provider`]: record.provider,
    [`${prefix}last-used-option-index`]: record.targetPath,
    [`${prefix}retry-attempt-count`]: String(record.retries),
    [`${prefix}cache-status`]: record.cacheStatus,
    ...Object.fromEntries(answerHeaders),
  };
}

/** Each piece as the operation's own stream has it. */
async function* pieces<T extends 'chat' | 'text'>(
  form: T,
  chunks: AsyncIterable<object>,
): AsyncGenerator<PromptCompletionChunk> {
  for await (const value of chunks) {
    const raw = rawJsonOf(value);
    const piece = create(PromptCompletionChunkSchema, {
      kind: { case: form, value: readNow(value as ChatCompletion) } as never,
    });
    yield raw === undefined ? piece : attachRawJson(piece, raw);
  }
}
