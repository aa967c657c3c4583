// What the control plane keeps for model calls, in memory: filled from the store, following its changes.

import type { Document } from '../store/documents.ts';
import { type FollowFacts, follow } from '../store/follow.ts';
import { type ConfigBody, configs, type GuardrailBody, SNAPSHOT_COLLECTIONS } from './collections.ts';
import { SavedConfigs } from './configs.ts';
import { SavedGuardrails } from './guardrails.ts';

/** All of it. */
export class Saved {
  readonly configs = new SavedConfigs();
  readonly guardrails = new SavedGuardrails();

  /** Reads everything and follows its changes; resolves with how to stop. @throws GatewayError store_unavailable */
  follow(facts: Omit<FollowFacts, 'collections' | 'apply'>): Promise<() => void> {
    return follow({
      ...facts,
      collections: SNAPSHOT_COLLECTIONS,
      apply: (collection, document) => this.#apply(collection.name, document),
    });
  }

  #apply(collection: string, document: Document<object>): void {
    if (collection === configs.name) this.configs.apply(document as Document<ConfigBody>);
    else this.guardrails.apply(document as Document<GuardrailBody>);
  }
}
