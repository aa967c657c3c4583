// What a chat completion may ask for and generateContent cannot express. What would change the answer is refused by
// name; what would not (`store`, `metadata`, `user`, `prompt_cache_key`, `prediction`, a speaker's `name`, an image's
// `detail`, `parallel_tool_calls: true`) is left out.
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { type Violation, validationFailed } from '../../../lib/errors.ts';
import type { LeftOut } from '../left-out.ts';

/** What would not change the answer. */
export const LEFT_OUT: LeftOut = [
  'store',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prediction',
  'service_tier',
];

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export function refuseInexpressible(request: CreateChatCompletionRequest): void {
  const violations: Violation[] = [];
  const refuse = (field: string, is: boolean, message = 'is not supported by this provider'): void => {
    if (is) violations.push({ field, rule: 'unsupported', message });
  };
  refuse('logit_bias', Object.keys(request.logitBias).length > 0);
  refuse('web_search_options', request.webSearchOptions !== undefined, 'use the tool google_search instead');
  refuse(
    'parallel_tool_calls',
    request.parallelToolCalls === false && request.tools.length > 0,
    'cannot be false with this provider',
  );
  refuse('verbosity', (request.verbosity ?? 'medium') !== 'medium');
  refuse('functions', request.functions.length > 0, 'use tools instead');
  refuse('function_call', request.functionCall !== undefined, 'use tool_choice instead');
  if (violations.length > 0) throw validationFailed(violations);
}
