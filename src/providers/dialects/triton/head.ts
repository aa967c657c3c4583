// What the server does not say of its answers.
import type { TranslationContext } from '../../dialect.ts';

/** What every completion and piece of one begins with. */
export function completionHead({ now }: TranslationContext, model: string) {
  const at = now();
  return {
    id: `triton-${at.toString(36)}`,
    object: 'text_completion',
    created: BigInt(Math.floor(at / 1000)),
    model,
  };
}
