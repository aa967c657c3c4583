// Cohere's models at Oracle ("CohereChatRequest"): the last message apart from the history, and a preamble.
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  ChatMessage,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField, type Violation, validationFailed } from '../../../lib/errors.ts';
import { textIn } from './messages.ts';
import { sampling } from './sampling.ts';

/** Whether a model takes Cohere's format; an endpoint's identifier does not say, and takes the generic one. */
export function isCohere(model: string): boolean {
  return model.startsWith('cohere.');
}

/** The request in Cohere's format. @throws GatewayError `validation_failed` with every member that it cannot express. */
export function cohereRequest(request: CreateChatCompletionRequest, stream: boolean): JsonObject {
  refuse(request);
  const { messages } = request;
  const last = messages.at(-1);
  if (last === undefined || last.role !== 'user')
    throw invalidField(`messages[${messages.length - 1}].role`, 'must be "user" with this model');
  const preamble = messages.flatMap((message, i) => (isSystem(message) ? [textIn(message, i)] : []));
  const history = messages
    .slice(0, -1)
    .flatMap((message, i) => (isSystem(message) ? [] : [turn(message, i)]));
  return {
    apiFormat: 'COHERE',
    message: textIn(last, messages.length - 1),
    ...(preamble.length === 0 ? {} : { preambleOverride: preamble.join('\n') }),
    ...(history.length === 0 ? {} : { chatHistory: history }),
    ...sampling(request, 'stopSequences'),
    isStream: stream,
    ...(stream ? { streamOptions: { isIncludeUsage: true } } : {}),
  };
}

function refuse(request: CreateChatCompletionRequest): void {
  const given: Readonly<Record<string, boolean>> = {
    tools: request.tools.length > 0,
    functions: request.functions.length > 0,
    response_format: (request.responseFormat?.type ?? 'text') !== 'text',
    n: (request.n ?? 1) > 1,
    reasoning_effort: request.reasoningEffort !== undefined && request.reasoningEffort !== 'none',
    logprobs: request.logprobs === true,
  };
  const violations = Object.entries(given).flatMap(([field, is]): Violation[] =>
    is ? [{ field, rule: 'unsupported', message: 'is not supported by this model at this provider' }] : [],
  );
  if (violations.length > 0) throw validationFailed(violations);
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

function turn(message: ChatMessage, i: number): JsonObject {
  const { role } = message;
  if (role !== 'user' && role !== 'assistant')
    throw invalidField(`messages[${i}].role`, `"${role.slice(0, 64)}" is not supported by this model`);
  return { role: role === 'user' ? 'USER' : 'CHATBOT', message: textIn(message, i) };
}
