// What a chat completion may ask for and generateContent cannot express. What would change the answer is refused by
// name; what would not (`store`, `metadata`, `user`, `prompt_cache_key`, `prediction`, a speaker's `name`, an image's
// `detail`, `parallel_tool_calls: true`) is left out.
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
  logit_bias: true,
  web_search_options: { message: 'use the tool google_search instead' },
  parallel_tool_calls: {
    asked: ({ parallelToolCalls, tools }) => parallelToolCalls === false && tools.length > 0,
  },
  verbosity: true,
  functions: true,
  function_call: true,
});
