// What the services of prompts are made with.
import type { PlanFacts } from '../inference/plan/plan-facts.ts';
import type { PromptBook } from '../prompts/book.ts';
import type { MessageRules } from '../prompts/request-message.ts';
import type { IdentityFacts } from './identity-facts.ts';

/** Shared by collections, labels, partials and prompts. */
export interface PromptsFacts extends IdentityFacts {
  readonly book: PromptBook;
  readonly messageRules: MessageRules;
  /** Stored providers; undefined: it is not known which there are. */
  readonly storedProvider: PlanFacts['resolveProvider'] | undefined;
}
