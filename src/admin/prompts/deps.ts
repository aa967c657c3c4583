// What the services of prompts are made with.
import type { PlanDeps } from '../../inference/plan/plan-deps.ts';
import type { PromptCatalogue } from '../../prompts/prompt-catalogue.ts';
import type { MessageRules } from '../../prompts/request-message.ts';
import type { IdentityDeps } from '../kit/deps.ts';

/** Shared by collections, labels, partials and prompts. */
export interface PromptsDeps extends IdentityDeps {
  readonly book: PromptCatalogue;
  readonly messageRules: MessageRules;
  /** Stored providers; undefined: they are not known. */
  readonly storedProvider: PlanDeps['resolveProvider'] | undefined;
}
