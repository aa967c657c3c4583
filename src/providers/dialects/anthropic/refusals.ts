// What a chat completion may ask for and the Messages API cannot express. What would
// change the answer is refused rather than silently lost; what would not (`seed`, which
// is best effort by OpenAI's own words, `store`, `prediction`, `prompt_cache_key`,
// `metadata` but for its user_id, a speaker's `name`, an image's `detail`) is left out.
import { claudeLacks, refusing } from '../inexpressible.ts';
import type { LeftOut } from '../left-out.ts';

/** What would not change the answer. */
export const LEFT_OUT: LeftOut = ['seed', 'store', 'prediction', 'prompt_cache_key', 'metadata'];

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export const refuseInexpressible = refusing(claudeLacks('web search'));
