// Prices that organisations set themselves, as they are kept.
import { type Collection, defineCollection } from '../../store/collection.ts';
import type { Price } from './price.ts';

/** What a model costs an organisation from a time on, until the next price of the same model. */
export interface ModelPriceBody {
  readonly provider: string;
  readonly model: string;
  /** Unix milliseconds. */
  readonly effectiveFrom: number;
  readonly price: Price;
  /** Who made it: a user's id, or a key's. */
  readonly createdBy: string;
}

export const modelPrices: Collection<ModelPriceBody> = defineCollection<ModelPriceBody>({
  name: 'model_prices',
  schemaVersion: 1,
  noticed: true,
  fields: [
    { name: 'provider', type: 'text' },
    { name: 'model', type: 'text' },
    { name: 'effectiveFrom', type: 'integer' },
  ],
  unique: [{ fields: ['provider', 'model', 'effectiveFrom'], per: 'organisation' }],
});

/** All collections of prices. */
export const priceCollections: readonly Collection<object>[] = [modelPrices];
