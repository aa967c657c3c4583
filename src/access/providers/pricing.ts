// An integration's prices: factors on all of them, and rates of single models.

import type { PricingRecord } from '../../call/record.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { IntegrationBody } from './provider-collections.ts';

/** The pricing of a model. The same object until the integration changes; undefined: the usual prices. */
export type PricingOf = (model: string) => PricingRecord | undefined;

/** Reads it; undefined when the integration sets no prices. */
export function pricingOf({ pricingAdjustments, models = [] }: IntegrationBody): PricingOf | undefined {
  const factors = factorsOf(pricingAdjustments?.multiplier as JsonObject | undefined);
  const byModel = new Map<string, PricingRecord>();
  for (const { slug, pricingConfig } of models) {
    const rates = ratesOf(pricingConfig?.pay_as_you_go as JsonObject | undefined);
    if (rates !== undefined) byModel.set(slug, factors === undefined ? { rates } : { factors, rates });
  }
  if (factors === undefined && byModel.size === 0) return undefined;
  const others: PricingRecord | undefined = factors === undefined ? undefined : { factors };
  return (model) => byModel.get(model) ?? others;
}

/** Factors by name, those of groups as `group.name`; undefined when there are none. */
function factorsOf(multiplier: JsonObject | undefined): Readonly<Record<string, number>> | undefined {
  const found: Record<string, number> = {};
  for (const [name, value] of Object.entries(multiplier ?? {})) {
    if (typeof value === 'number') found[name] = value;
    else if (typeof value === 'object' && value !== null)
      for (const [inner, factor] of Object.entries(value as JsonObject))
        if (typeof factor === 'number') found[`${name}.${inner}`] = factor;
  }
  return Object.keys(found).length === 0 ? undefined : found;
}

/** Rates in US dollars by name. */
function ratesOf(payAsYouGo: JsonObject | undefined): Readonly<Record<string, number>> | undefined {
  if (payAsYouGo === undefined) return undefined;
  const rates = Object.entries(payAsYouGo).flatMap(([name, value]) => {
    const { price } = value as JsonObject;
    return typeof price === 'number' ? [[name, price] as const] : [];
  });
  return rates.length === 0 ? undefined : Object.fromEntries(rates);
}
