// Organisations' own prices in memory: filled from the store, following its changes.
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import type { Price } from './price.ts';
import { type ModelPriceBody, modelPrices } from './price-collections.ts';

type PriceDocument = Document<ModelPriceBody>;

export class OwnPrices {
  /** By organisation, provider and model: the newest first. */
  readonly #dated = new Map<string, readonly PriceDocument[]>();
  /** By organisation and model: the providers that have a price of it. */
  readonly #providers = new Map<string, readonly string[]>();
  readonly replica: Replica<ModelPriceBody> = new Replica(modelPrices, {
    row: (document) => document,
    groupOf: ({ organisationId, body }) => keyOf(organisationId, body.provider, body.model),
    changed: (now, before) => {
      if (before !== undefined) this.#index(before);
      if (now !== undefined) this.#index(now);
    },
  });

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

  /** What was made of the prices of a provider's model is made anew. */
  #index({ organisationId, body: { provider, model } }: PriceDocument): void {
    const key = keyOf(organisationId, provider, model);
    const dated = [...this.replica.group(key)].sort((a, b) => b.body.effectiveFrom - a.body.effectiveFrom);
    put(this.#dated, key, dated);
    const ofModel = `${organisationId} ${model}`;
    const others = (this.#providers.get(ofModel) ?? []).filter((one) => one !== provider);
    put(this.#providers, ofModel, dated.length === 0 ? others : [...others, provider].sort());
  }
}

function put<V>(map: Map<string, readonly V[]>, key: string, values: readonly V[]): void {
  if (values.length === 0) map.delete(key);
  else map.set(key, values);
}

/** No identifier of a provider holds a space. */
function keyOf(organisationId: string, provider: string, model: string): string {
  return `${organisationId} ${provider} ${model}`;
}
