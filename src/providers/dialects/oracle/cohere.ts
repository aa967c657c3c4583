// Cohere's models at Oracle ("CohereChatRequest"): the last message or tools' results apart from the history, and a preamble.
import type { JsonObject } from '@bufbuild/protobuf';
import type {
  ChatMessage,
  CreateChatCompletionRequest,
} from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { invalidField, type Violation, validationFailed } from '../../../lib/errors.ts';
import { CohereTools, cohereTool } from './cohere-tools.ts';
import { textIn } from './messages.ts';
import { sampling } from './sampling.ts';

/** Whether a model takes Cohere's format; an endpoint's identifier does not say, and takes the generic one. */
export function isCohere(model: string): boolean {
  return model.startsWith('cohere.');
}

/** The request in Cohere's format. @throws GatewayError `validation_failed` with every member that it cannot express. */
export function cohereRequest(request: CreateChatCompletionRequest, stream: boolean): JsonObject {
  refuse(request);
  const { messages, tools, toolChoice } = request;
  const withTools =
    tools.length > 0 && !(toolChoice?.kind.case === 'mode' && toolChoice.kind.value === 'none');
  const answered = messages.findLastIndex(({ role }) => role !== 'tool');
  const last = answered === messages.length - 1 ? messages.at(-1) : undefined;
  if (answered === messages.length - 1 && last?.role !== 'user')
    throw invalidField(`messages[${messages.length - 1}].role`, 'must be "user" or "tool" with this model');
  const preamble = messages.flatMap((message, i) => (isSystem(message) ? [textIn(message, i)] : []));
  const made = new CohereTools();
  const history = historyOf(messages, last === undefined ? answered + 1 : messages.length - 1, made);
  const results = messages
    .slice(answered + 1)
    .map((message, k) => made.result(message, textIn(message, answered + 1 + k), answered + 1 + k));
  return {
    apiFormat: 'COHERE',
    message: last === undefined ? '' : textIn(last, messages.length - 1),
    ...(preamble.length === 0 ? {} : { preambleOverride: preamble.join('\n') }),
    ...(history.length === 0 ? {} : { chatHistory: history }),
    ...(withTools ? { tools: tools.map(cohereTool) } : {}),
    ...(results.length === 0 ? {} : { toolResults: results }),
    ...formatOf(request),
    ...sampling(request, 'stopSequences'),
    isStream: stream,
    ...(stream ? { streamOptions: { isIncludeUsage: true } } : {}),
  };
}

function refuse(request: CreateChatCompletionRequest): void {
  const { toolChoice, reasoningEffort, thinking } = request;
  const choice = toolChoice?.kind.case === undefined ? 'auto' : toolChoice.kind.value;
  const given: Readonly<Record<string, boolean>> = {
    functions: request.functions.length > 0,
    function_call: request.functionCall !== undefined,
    tool_choice: choice !== 'auto' && choice !== 'none',
    parallel_tool_calls: request.parallelToolCalls === false && request.tools.length > 0,
    n: (request.n ?? 1) > 1,
    reasoning_effort: reasoningEffort !== undefined && reasoningEffort !== 'none',
    thinking: thinking !== undefined && thinking.type !== 'disabled',
    logprobs: request.logprobs === true,
    top_logprobs: (request.topLogprobs ?? 0) > 0,
    logit_bias: Object.keys(request.logitBias).length > 0,
    modalities: request.modalities.some((kind) => kind !== 'text'),
    audio: request.audio !== undefined,
    web_search_options: request.webSearchOptions !== undefined,
    verbosity: (request.verbosity ?? 'medium') !== 'medium',
  };
  const violations = Object.entries(given).flatMap(([field, is]): Violation[] =>
    is ? [{ field, rule: 'unsupported', message: 'is not supported by this model at this provider' }] : [],
  );
  if (violations.length > 0) throw validationFailed(violations);
}

function formatOf({ responseFormat }: CreateChatCompletionRequest): JsonObject {
  switch (responseFormat?.type) {
    case undefined:
    case 'text':
      return {};
    case 'json_object':
      return { responseFormat: { type: 'JSON_OBJECT' } };
    case 'json_schema': {
      const schema = responseFormat?.jsonSchema?.schema;
      return { responseFormat: { type: 'JSON_OBJECT', ...(schema === undefined ? {} : { schema }) } };
    }
    default:
      throw invalidField('response_format.type', 'must be text, json_object or json_schema');
  }
}

function isSystem({ role }: ChatMessage): boolean {
  return role === 'system' || role === 'developer';
}

/** Turns before the current one; results of tools that came together are one turn. */
function historyOf(messages: readonly ChatMessage[], until: number, made: CohereTools): JsonObject[] {
  const turns: JsonObject[] = [];
  for (const [i, message] of messages.slice(0, until).entries()) {
    if (isSystem(message)) continue;
    if (message.role !== 'tool') {
      turns.push(turn(message, i, made));
      continue;
    }
    const result = made.result(message, textIn(message, i), i);
    const before = turns.at(-1);
    if (before?.role === 'TOOL') (before.toolResults as JsonObject[]).push(result);
    else turns.push({ role: 'TOOL', toolResults: [result] });
  }
  return turns;
}

function turn(message: ChatMessage, i: number, made: CohereTools): JsonObject {
  const { role } = message;
  if (role === 'user') return { role: 'USER', message: textIn(message, i) };
  if (role !== 'assistant')
    throw invalidField(`messages[${i}].role`, `"${role.slice(0, 64)}" is not supported by this model`);
  if (message.functionCall) throw invalidField(`messages[${i}].function_call`, 'use tool_calls instead');
  const calls = message.toolCalls.map((call, k) => made.call(call, `messages[${i}].tool_calls[${k}]`));
  return {
    role: 'CHATBOT',
    message: textIn(message, i),
    ...(calls.length === 0 ? {} : { toolCalls: calls }),
  };
}
