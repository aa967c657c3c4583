// What files are for, where OpenAI keeps them.
import { invalidField } from '../../lib/errors.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** What OpenAI takes; other providers have purposes of their own. */
const OPENAI_PURPOSES = new Set(['assistants', 'batch', 'fine-tune', 'vision', 'user_data', 'evals']);

/** @throws GatewayError validation_failed naming the member */
export function checkPurpose(purpose: string, bound: BoundTarget | undefined): void {
  if (bound?.target.provider.ownWords && !OPENAI_PURPOSES.has(purpose))
    throw invalidField('purpose', `must be one of ${[...OPENAI_PURPOSES].join(', ')}`);
}
