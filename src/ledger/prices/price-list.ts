// What tokens cost: the seed of public list prices, in whole units of 1e-12 US dollars.
import { readPackedNow } from '../../lib/packed-file.ts';
import type { OwnPrices } from './own-prices.ts';
import type { Price } from './price.ts';

export { costOf } from './cost.ts';
export { dollarsOf, inDollars } from './dollars.ts';

/** The seed's file. */
interface Seed {
  readonly source: { readonly package: string; readonly version: string; readonly taken: string };
  readonly providers: Readonly<Record<string, Readonly<Record<string, Price>>>>;
}

/** Finds prices. */
export interface PriceList {
  /**
   * The price at a time (Unix milliseconds): the organisation's own, or else the list's. Undefined: the model's price
   * is unknown.
   */
  find(provider: string, model: string, at: number, organisationId?: string): Price | undefined;
  /** For a call whose provider is not chosen yet: the price at the first provider that has such a model. */
  findAnywhere(model: string, at: number, organisationId?: string): Price | undefined;
}

/** A price from a time on, until the next one of the same model. */
export interface PriceRow {
  readonly provider: string;
  readonly model: string;
  /** Unix milliseconds. */
  readonly from: number;
  readonly price: Price;
}

/** Prices of one model, the newest first. */
type Dated = readonly { readonly from: number; readonly price: Price }[];

/**
 * Reads the seed, once, when a price is first asked for: it holds from the beginning, and each row from its own time.
 * @param own what organisations pay by their own account
 */
export function openPriceList(rows: readonly PriceRow[] = [], own?: OwnPrices): PriceList {
  let read: ReturnType<typeof readList> | undefined;
  const list = (): ReturnType<typeof readList> => {
    read ??= readList(rows);
    return read;
  };
  const listed = (provider: string, model: string, at: number): Price | undefined =>
    list()
      .get(provider)
      ?.get(model)
      ?.find(({ from }) => from <= at)?.price;
  return {
    find(provider, model, at, organisationId) {
      const ours = organisationId === undefined ? undefined : own?.find(organisationId, provider, model, at);
      return ours ?? listed(provider, model, at);
    },
    findAnywhere(model, at, organisationId) {
      const ours = organisationId === undefined ? undefined : own?.findAnywhere(organisationId, model, at);
      if (ours !== undefined) return ours;
      for (const provider of list().keys()) {
        const price = listed(provider, model, at);
        if (price !== undefined) return price;
      }
      return undefined;
    },
  };
}

function readList(rows: readonly PriceRow[]): ReadonlyMap<string, ReadonlyMap<string, Dated>> {
  const seed: Seed = JSON.parse(readPackedNow(new URL('./seed.json', import.meta.url)));
  const providers = new Map<string, Map<string, Dated>>();
  const put = ({ provider, model, from, price }: PriceRow): void => {
    const models = providers.get(provider) ?? new Map<string, Dated>();
    providers.set(provider, models);
    const dated = [...(models.get(model) ?? []), { from, price }];
    models.set(
      model,
      dated.sort((a, b) => b.from - a.from),
    );
  };
  for (const [provider, models] of Object.entries(seed.providers))
    for (const [model, price] of Object.entries(models))
      put({ provider, model, from: Number.NEGATIVE_INFINITY, price });
  for (const row of rows) put(row);
  return providers;
}
