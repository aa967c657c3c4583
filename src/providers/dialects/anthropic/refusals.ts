// What a chat completion may ask for and the Messages API cannot express. What would
// change the answer is refused rather than silently lost; what would not (`seed`, which
// is best effort by OpenAI's own words, `store`, `prediction`, `prompt_cache_key`,
// `metadata` but for its user_id, a speaker's `name`, an image's `detail`) is left out.
import { refusing } from '../inexpressible.ts';
import type { LeftOut } from '../left-out.ts';

/** What would not change the answer. */
export const LEFT_OUT: LeftOut = ['seed', 'store', 'prediction', 'prompt_cache_key', 'metadata'];

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export const refuseInexpressible = refusing({
  n: true,
  logprobs: true,
  top_logprobs: true,
  logit_bias: true,
  frequency_penalty: true,
  presence_penalty: true,
  audio: true,
  modalities: true,
  web_search_options: { message: 'use a web search tool instead' },
  verbosity: true,
  functions: true,
  function_call: true,
});
