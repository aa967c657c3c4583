// What a chat completion may ask for and Cohere's chat cannot express. What would change the answer is refused by name;
// what would not (`store`, `metadata`, `user`, `prediction`, a speaker's `name`) is left out.
import { refusing } from '../inexpressible.ts';
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
export const refuseInexpressible = refusing({
  n: true,
  top_logprobs: true,
  logit_bias: true,
  audio: true,
  modalities: { message: 'must be ["text"]' },
  web_search_options: true,
  parallel_tool_calls: true,
  verbosity: true,
  functions: true,
  function_call: true,
});
