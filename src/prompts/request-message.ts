// A filled-in prompt as the request that it is: judged as the caller's own would be.
import type { DescMessage, Message } from '@bufbuild/protobuf';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import {
  type CreateCompletionRequest,
  CreateCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/completions_pb.ts';
import { codec } from '../rest/codec.ts';
import type { JsonObject } from '../store/collection.ts';
import type { BuiltRequest } from './build-request.ts';

/** Judges a message by the rules on its fields. @throws GatewayError validation_failed */
export type MessageRules = (desc: DescMessage, message: Message) => void;

export type RequestMessage =
  | { readonly operation: 'chat'; readonly message: CreateChatCompletionRequest }
  | { readonly operation: 'completions'; readonly message: CreateCompletionRequest };

/** @throws GatewayError validation_failed naming the member of the request */
export function requestMessage(
  { operation, json }: Pick<BuiltRequest, 'operation' | 'json'>,
  rules: MessageRules,
): RequestMessage {
  if (operation === 'chat') {
    const message = codec.decodeRequest(CreateChatCompletionRequestSchema, json);
    rules(CreateChatCompletionRequestSchema, message);
    return { operation, message };
  }
  const message = codec.decodeRequest(CreateCompletionRequestSchema, json);
  rules(CreateCompletionRequestSchema, message);
  return { operation, message };
}

/** What a request gives in addition to its own members; members of its own are not repeated there. */
export function extraParameters(extra: JsonObject | undefined): JsonObject {
  const { variables: _, stream: __, prompt_id: ___, ...parameters } = extra ?? {};
  return parameters;
}
