// What a chat completion may ask for and the Messages API cannot express. What would
// change the answer is refused rather than silently lost; what would not (`seed`, which
// is best effort by OpenAI's own words, `store`, `prediction`, `prompt_cache_key`,
// `metadata` but for its user_id, a speaker's `name`, an image's `detail`) is left out.
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { type Violation, validationFailed } from '../../../lib/errors.ts';
import type { LeftOut } from '../left-out.ts';

/** What would not change the answer. */
export const LEFT_OUT: LeftOut = ['seed', 'store', 'prediction', 'prompt_cache_key', 'metadata'];

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export function refuseInexpressible(request: CreateChatCompletionRequest): void {
  const violations: Violation[] = [];
  const refuse = (field: string, is: boolean, message = 'is not supported by this provider'): void => {
    if (is) violations.push({ field, rule: 'unsupported', message });
  };
  refuse('n', (request.n ?? 1) > 1, 'must be 1: this provider gives one answer');
  refuse('logprobs', request.logprobs === true);
  refuse('top_logprobs', (request.topLogprobs ?? 0) > 0);
  refuse('logit_bias', Object.keys(request.logitBias).length > 0);
  refuse('frequency_penalty', (request.frequencyPenalty ?? 0) !== 0);
  refuse('presence_penalty', (request.presencePenalty ?? 0) !== 0);
  refuse('audio', request.audio !== undefined);
  refuse(
    'modalities',
    request.modalities.some((kind) => kind !== 'text'),
    'must be ["text"]: this provider answers with text only',
  );
  refuse('web_search_options', request.webSearchOptions !== undefined, 'use a web search tool instead');
  refuse('verbosity', (request.verbosity ?? 'medium') !== 'medium');
  refuse('functions', request.functions.length > 0, 'use tools instead');
  refuse('function_call', request.functionCall !== undefined, 'use tool_choice instead');
  if (violations.length > 0) throw validationFailed(violations);
}
