// What a chat completion may ask for and Converse cannot express. What would change the answer is refused by name; what
// would not (`seed`, which is best effort by OpenAI's own words, `store`, `metadata`, `user`, `prompt_cache_key`,
// `prediction`, a speaker's `name`, an image's `detail`) is left out.
import { claudeLacks, refusing } from '../inexpressible.ts';
import type { LeftOut } from '../left-out.ts';

/** What would not change the answer. */
export const LEFT_OUT: LeftOut = [
  'seed',
  'store',
  'metadata',
  'user',
  'safety_identifier',
  'prompt_cache_key',
  'prediction',
];

/** @throws GatewayError `validation_failed` with every member that cannot be expressed. */
export const refuseInexpressible = refusing(claudeLacks('system'));
