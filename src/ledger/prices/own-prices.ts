// Organisations' own prices in memory: filled from the store, following its changes.
import type { Document } from '../../store/documents.ts';
import { type FollowDeps, follow } from '../../store/follow.ts';
import type { Price } from './price.ts';
import { type ModelPriceBody, modelPrices } from './price-collections.ts';

type PriceDocument = Document<ModelPriceBody>;

export class OwnPrices {
  readonly #byId = new Map<string, PriceDocument>();
  /** By organisation, provider and model: the newest first. */
  readonly #dated = new Map<string, readonly PriceDocument[]>();
  /** By organisation and model: the providers that have a price of it. */
  readonly #providers = new Map<string, readonly string[]>();

  /** Reads everything and follows its changes; resolves with how to stop. @throws GatewayError store_unavailable */
  follow(deps: Omit<FollowDeps, 'collections' | 'apply'>): Promise<() => void> {
    return follow({
      ...deps,
      collections: [modelPrices],
      apply: (_collection, document) => this.apply(document as PriceDocument),
    });
  }

  /** Takes a price as it is now, archived ones too. Versions only go up: see follow.ts. */
  apply(document: PriceDocument): void {
    const before = this.#byId.get(document.id);
    if (before !== undefined) this.#put(before, (all) => all.filter(({ id }) => id !== before.id));
    this.#byId.delete(document.id);
    if (document.status !== 'active') return;
    this.#byId.set(document.id, document);
    const newest = (a: PriceDocument, b: PriceDocument) => b.body.effectiveFrom - a.body.effectiveFrom;
    this.#put(document, (all) => [...all, document].sort(newest));
  }

  /** The organisation's price that held at a time (Unix milliseconds). */
  find(organisationId: string, provider: string, model: string, at: number): Price | undefined {
    if (this.#dated.size === 0) return undefined;
    const dated = this.#dated.get(keyOf(organisationId, provider, model));
    return dated?.find(({ body }) => body.effectiveFrom <= at)?.body.price;
  }

  /** The organisation's price of a model at the first provider that has one. */
  findAnywhere(organisationId: string, model: string, at: number): Price | undefined {
    if (this.#dated.size === 0) return undefined;
    for (const provider of this.#providers.get(`${organisationId} ${model}`) ?? []) {
      const price = this.find(organisationId, provider, model, at);
      if (price !== undefined) return price;
    }
    return undefined;
  }

  #put(
    { organisationId, body: { provider, model } }: PriceDocument,
    change: (all: readonly PriceDocument[]) => readonly PriceDocument[],
  ): void {
    const key = keyOf(organisationId, provider, model);
    const changed = change(this.#dated.get(key) ?? []);
    const others = (this.#providers.get(`${organisationId} ${model}`) ?? []).filter(
      (one) => one !== provider,
    );
    if (changed.length === 0) this.#dated.delete(key);
    else this.#dated.set(key, changed);
    const providers = changed.length === 0 ? others : [...others, provider].sort();
    if (providers.length === 0) this.#providers.delete(`${organisationId} ${model}`);
    else this.#providers.set(`${organisationId} ${model}`, providers);
  }
}

/** No identifier of a provider holds a space. */
function keyOf(organisationId: string, provider: string, model: string): string {
  return `${organisationId} ${provider} ${model}`;
}
