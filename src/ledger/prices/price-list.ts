// What tokens cost: the seed of public list prices, in whole units of 1e-12 US dollars.
import { readFileSync } from 'node:fs';
import type { UsageRecord } from '../../store/request-log.ts';
import type { OwnPrices } from './own-prices.ts';
import type { Price } from './price.ts';

/** The seed's file. */
interface Seed {
  readonly source: { readonly package: string; readonly version: string; readonly taken: string };
  readonly providers: Readonly<Record<string, Readonly<Record<string, Price>>>>;
}

/** Finds prices. */
export interface PriceList {
  /**
   * The price that held at a time (Unix milliseconds): the organisation's own, or else the list's. Undefined: nothing
   * is known of the model's price.
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

/** Units of one US dollar. */
export const PER_DOLLAR = 1_000_000_000_000n;

/** Prices of one model, the newest first. */
type Dated = readonly { readonly from: number; readonly price: Price }[];

/**
 * Reads the seed, once, at start: it holds from the beginning, and each row from its own time.
 * @param own what organisations pay by their own account
 */
export function openPriceList(rows: readonly PriceRow[] = [], own?: OwnPrices): PriceList {
  const seed: Seed = JSON.parse(readFileSync(new URL('./seed.json', import.meta.url), 'utf8'));
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
  const listed = (provider: string, model: string, at: number): Price | undefined =>
    providers
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
      for (const provider of providers.keys()) {
        const price = listed(provider, model, at);
        if (price !== undefined) return price;
      }
      return undefined;
    },
  };
}

/**
 * What the tokens cost, in 1e-12 USD: exact, no binary fraction is summed. Tokens read from or written to a
 * provider's cache are part of the prompt's, tokens of reasoning part of the completion's.
 */
export function costOf(price: Price, usage: UsageRecord): bigint {
  const { promptTokens, completionTokens = 0 } = usage;
  const read = Math.min(usage.cachedTokens ?? 0, promptTokens);
  const written = Math.min(usage.cacheCreationTokens ?? 0, promptTokens - read);
  const reasoned = Math.min(usage.reasoningTokens ?? 0, completionTokens);
  const { input = 0, output = 0 } = price;
  return (
    times(promptTokens - read - written, input) +
    times(read, price.cacheRead ?? input) +
    times(written, price.cacheWrite ?? input) +
    times(completionTokens - reasoned, output) +
    times(reasoned, price.reasoning ?? output)
  );
}

/** US dollars as written, in 1e-12 USD; what is finer is left out. @param dollars not negative */
export function dollarsOf(dollars: number): bigint {
  const [digits = '', exponent = '0'] = dollars.toExponential().split('e');
  const [whole = '', part = ''] = digits.split('.');
  const shift = Number(exponent) - part.length + 12;
  const all = BigInt(whole + part);
  return shift >= 0 ? all * 10n ** BigInt(shift) : all / 10n ** BigInt(-shift);
}

/** US dollars of 1e-12 USD, as the nearest number to the exact decimal. */
export function inDollars(amount: bigint): number {
  const digits = amount.toString().padStart(13, '0');
  return Number(`${digits.slice(0, -12)}.${digits.slice(-12)}`);
}

function times(tokens: number, rate: number): bigint {
  return BigInt(tokens) * BigInt(rate);
}
