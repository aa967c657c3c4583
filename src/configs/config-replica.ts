// What the control plane keeps for model calls, in memory: filled from the store, following its changes.

import type { Document } from '../store/documents.ts';
import { type FollowDeps, follow } from '../store/follow.ts';
import { ConfigCatalogue } from './config-catalogue.ts';
import { type ConfigBody, configs, type GuardrailBody, SNAPSHOT_COLLECTIONS } from './config-collections.ts';
import { GuardrailCatalogue } from './guardrail-catalogue.ts';

/** All of it. */
export class ConfigReplica {
  readonly configs = new ConfigCatalogue();
  readonly guardrails = new GuardrailCatalogue();

  /** Reads everything and follows its changes; resolves with how to stop. @throws GatewayError store_unavailable */
  follow(deps: Omit<FollowDeps, 'collections' | 'apply'>): Promise<() => void> {
    return follow({
      ...deps,
      collections: SNAPSHOT_COLLECTIONS,
      apply: (collection, document) => this.#apply(collection.name, document),
    });
  }

  #apply(collection: string, document: Document<object>): void {
    if (collection === configs.name) this.configs.apply(document as Document<ConfigBody>);
    else this.guardrails.apply(document as Document<GuardrailBody>);
  }
}
