// What a chat completion may ask for and generateContent cannot express. What would change the answer is refused by
// name; what would not (`store`, `metadata`, `user`, `prompt_cache_key`, `prediction`, a speaker's `name`, an image's
// `detail`, `parallel_tool_calls: true`) is left out.
import type { CreateChatCompletionRequest } from '../../../../gen/gateway/inference/v2/chat_pb.ts';
import { type Violation, validationFailed } from '../../../lib/errors.ts';

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export function refuseInexpressible(request: CreateChatCompletionRequest): void {
  const violations: Violation[] = [];
  const refuse = (field: string, is: boolean, message = 'is not supported by this provider'): void => {
    if (is) violations.push({ field, rule: 'unsupported', message });
  };
  refuse('logit_bias', Object.keys(request.logitBias).length > 0);
  refuse('web_search_options', request.webSearchOptions !== undefined, 'use the tool google_search instead');
  refuse('functions', request.functions.length > 0, 'use tools instead');
  refuse('function_call', request.functionCall !== undefined, 'use tool_choice instead');
  if (violations.length > 0) throw validationFailed(violations);
}
