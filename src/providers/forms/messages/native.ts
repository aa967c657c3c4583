// The Messages API with those who have it: the request nearly as it came, the answer and its events unchanged.
import type { Message as AnyMessage, DescMessage, JsonObject } from '@bufbuild/protobuf';
import {
  type CountMessageTokensRequest,
  CountMessageTokensRequestSchema,
  type CreateMessageRequest,
  CreateMessageRequestSchema,
  type Message,
  type MessageEvent,
  MessageSchema,
  type MessageTokens,
  MessageTokensSchema,
} from '../../../../gen/gateway/inference/v2/messages_pb.ts';
import { fail, type GatewayError, invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import { lazyMessage } from '../../../lib/lazy-message.ts';
import { attachRawJson, rawJsonOf } from '../../../lib/raw-json.ts';
import type {
  MessageJson,
  Operation,
  Outbound,
  StreamingOperation,
  TranslationContext,
} from '../../dialect.ts';
import { readObject } from '../../dialects/anthropic/response.ts';
import { readUsage, usageIn } from '../../dialects/anthropic/usage.ts';
import { textOf } from '../../json-object.ts';
import { mergeUsage } from '../../merge-usage.ts';
import { jsonOf } from '../json-of.ts';
import { messageEvents } from './form.ts';
import { MARK, withoutKept } from './kept.ts';
import { NativeEvents } from './native-events.ts';

/** The operation over the given JSON. */
export function nativeMessages(
  json: MessageJson,
): StreamingOperation<CreateMessageRequest, Message, MessageEvent> {
  return {
    request: (request, context) => messagesCall(json, request, context, false),
    streamRequest: (request, context) => messagesCall(json, request, context, true),
    response: (body, _request, context) => readMessage(json, body, context),
    stream: (_request, context) => new NativeEvents(json, context.target.provider.id),
    wholeAsChunks: (answer) => messageEvents(json, answer),
  };
}

/** The counting of a request's tokens. */
export function nativeCount(json: MessageJson): Operation<CountMessageTokensRequest, MessageTokens> {
  return {
    request: (request, context) => {
      const { body, betas } = bodyOf(json, CountMessageTokensRequestSchema, request, undefined);
      return call('/messages/count_tokens', body, context, betas, false);
    },
    response(body, _request, context) {
      const object = readObject(body, context);
      if (typeof object.input_tokens !== 'number') throw without('input_tokens', context);
      const answer = attachRawJson(
        lazyMessage(MessageTokensSchema, () => json.decode(MessageTokensSchema, object)),
        body,
      );
      return { answer, usage: undefined, model: undefined };
    },
  };
}

/** A request of the Messages API. @throws GatewayError `validation_failed` for betas that are no names */
export function messagesCall(
  json: MessageJson,
  request: CreateMessageRequest,
  context: TranslationContext,
  stream: boolean,
): Outbound {
  const { body, betas } = bodyOf(json, CreateMessageRequestSchema, request, stream);
  return call('/messages', body, context, betas, stream);
}

/** A request with the caller's own headers of Anthropic. */
export function call(
  path: string,
  body: Outbound['body'],
  { target, relayed }: TranslationContext,
  betas: unknown,
  stream: boolean,
): Outbound {
  const headers = [
    'content-type',
    'application/json',
    'accept',
    stream ? 'text/event-stream' : 'application/json',
  ];
  const version = relayed?.('anthropic-version');
  if (version !== undefined) headers.push('anthropic-version', version);
  const said = [target.options.anthropic_beta, relayed?.('anthropic-beta'), betaNames(betas)];
  const beta = [...new Set(said.flatMap((names) => (names ?? '').split(',')).map((name) => name.trim()))];
  const named = beta.filter((name) => name !== '');
  if (named.length > 0) headers.push('anthropic-beta', named.join(','));
  return { method: 'POST', path, headers, body };
}

const BETA = /^[\x21-\x2b\x2d-\x7e]+$/;

/** `betas` as Anthropic's clients name them in code; over gRPC they come as a member. */
function betaNames(betas: unknown): string | undefined {
  if (betas === undefined || betas === null) return undefined;
  if (!Array.isArray(betas) || !betas.every((beta) => typeof beta === 'string' && BETA.test(beta)))
    throw invalidField('betas', 'must be an array of names');
  return betas.join(',');
}

interface Body {
  readonly body: Outbound['body'];
  readonly betas: unknown;
}

/** The caller's own text where it says the same. @param stream undefined: the operation has no such member */
function bodyOf(
  json: MessageJson,
  schema: DescMessage,
  request: AnyMessage & { readonly stream?: boolean; readonly extra?: JsonObject },
  stream: boolean | undefined,
): Body {
  const raw = rawJsonOf(request);
  const betas = request.extra?.betas;
  const isSame = raw !== undefined && betas === undefined && (request.stream ?? false) === (stream ?? false);
  if (isSame && !holdsMark(raw)) return { body: raw, betas };
  const { betas: _, stream: __, ...body } = withoutKept(jsonOf(json, schema, request));
  return { body: jsonBody(stream ? { ...body, stream: true } : body), betas };
}

function holdsMark(raw: string | Uint8Array): boolean {
  if (typeof raw === 'string') return raw.includes(MARK);
  return Buffer.from(raw.buffer, raw.byteOffset, raw.byteLength).includes(MARK);
}

/** An answer that is none: another target may have one. */
function without(member: string, { target: { provider } }: TranslationContext): GatewayError {
  return fail('upstream_garbage', `the provider answered without ${member}`, { provider: provider.id });
}

function readMessage(json: MessageJson, body: Uint8Array, context: TranslationContext) {
  const object = readObject(body, context);
  if (!Array.isArray(object.content)) throw without('content', context);
  const answer = attachRawJson(
    lazyMessage(MessageSchema, () => json.decode(MessageSchema, object)),
    body,
  );
  const counts = usageIn(object);
  const merged = counts && mergeUsage(undefined, counts);
  return {
    answer,
    usage: merged && readUsage(merged, false),
    model: textOf(object.model),
    tier: textOf(counts?.service_tier),
  };
}
