// Prices as callers write and read them: US cents, by what is counted.
import { create } from '@bufbuild/protobuf';
import {
  type ModelPrice,
  ModelPriceSchema,
  type ModelPricing,
  ModelPricingSchema,
  type PayAsYouGo,
  PayAsYouGoSchema,
  type PriceOperation,
  PriceOperationSchema,
  type TierPrices,
  TierPricesSchema,
} from '../../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { centsOfRate, rateOfCents } from '../../ledger/prices/cents.ts';
import type { AllRates, Price } from '../../ledger/prices/price.ts';
import type { ModelPriceBody } from '../../ledger/prices/price-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';

/** Our rates by the message's, and the message's names as JSON has them. */
const RATES = [
  ['input', 'requestToken', 'request_token'],
  ['output', 'responseToken', 'response_token'],
  ['cacheWrite', 'cacheWriteInputToken', 'cache_write_input_token'],
  ['cacheWrite1h', 'cacheWrite1hInputToken', 'cache_write_1h_input_token'],
  ['cacheRead', 'cacheReadInputToken', 'cache_read_input_token'],
  ['inputAudio', 'requestAudioToken', 'request_audio_token'],
  ['outputAudio', 'responseAudioToken', 'response_audio_token'],
  ['reasoning', 'reasoningToken', 'reasoning_token'],
  ['inputImage', 'requestImageToken', 'request_image_token'],
  ['outputImage', 'responseImageToken', 'response_image_token'],
  ['cacheReadAudio', 'cacheReadAudioInputToken', 'cache_read_audio_input_token'],
] as const;

/** What else is counted, by our rates and by the names among the further units. */
const UNITS = [
  ['perCall', 'request'],
  ['perSearch', 'search'],
  ['perWebSearch', 'web_search'],
  ['perAudioSecond', 'audio_second'],
  ['perVideoSecond', 'video_second'],
  ['perCharacter', 'character'],
  ['perPage', 'page'],
  ['perTrainedToken', 'trained_token'],
] as const;

/** A price as it is kept. @throws GatewayError validation_failed */
export function priceOf(given: PayAsYouGo | undefined): Price {
  const units = Object.keys({ ...given?.additionalUnits, ...given?.image });
  if (given === undefined || (given.requestToken ?? given.responseToken ?? units[0]) === undefined)
    throw invalidField(
      'pay_as_you_go',
      'needs request_token or response_token, or a price of what is counted otherwise',
      'required',
    );
  const at = 'pay_as_you_go';
  const { longPrompt } = given;
  return defined<Price>({
    ...readRates(given, at),
    tiers: readTiers(given.serviceTiers, `${at}.service_tiers`),
    long:
      longPrompt &&
      defined<NonNullable<Price['long']>>({
        above: Number(longPrompt.above),
        ...readRates(longPrompt.rates, `${at}.long_prompt.rates`),
        tiers: readTiers(longPrompt.serviceTiers, `${at}.long_prompt.service_tiers`),
      }),
  });
}

function readTiers(
  given: Readonly<Record<string, TierPrices>>,
  field: string,
): Readonly<Record<string, AllRates>> | undefined {
  const tiers = Object.entries(given);
  if (tiers.length === 0) return undefined;
  return Object.fromEntries(tiers.map(([tier, rates]) => [tier, readRates(rates, `${field}.${tier}`)]));
}

function readRates(given: PayAsYouGo | TierPrices | undefined, field: string): AllRates {
  const read = RATES.map(([own, theirs, name]) => {
    const cents = given?.[theirs]?.price;
    return [own, cents === undefined ? undefined : rateOf(cents, `${field}.${name}`)];
  });
  const units = UNITS.map(([own, name]) => {
    const cents = given?.additionalUnits[name]?.price;
    return [own, cents === undefined ? undefined : rateOf(cents, `${field}.additional_units.${name}`)];
  });
  const images = Object.entries(given?.image ?? {}).flatMap(([quality, { values }]) =>
    Object.entries(values).map(([size, { price }]) => [
      `${quality}.${size}`,
      rateOf(price, `${field}.image.${quality}.${size}`),
    ]),
  );
  return defined<AllRates>({
    ...Object.fromEntries([...read, ...units]),
    images: images.length === 0 ? undefined : Object.fromEntries(images),
  });
}

function rateOf(cents: number, field: string): number {
  const rate = rateOfCents(cents);
  if (rate === undefined) throw invalidField(`${field}.price`, 'must not be finer than 1e-10 cents');
  return rate;
}

/** What callers are shown of an organisation's own price. */
export function priceRecord(document: Document<ModelPriceBody>): ModelPrice {
  const { id, organisationId, createdAt, updatedAt, body } = document;
  return create(ModelPriceSchema, {
    id,
    object: 'model-price',
    organisationId,
    provider: body.provider,
    model: body.model,
    effectiveFrom: timeText(body.effectiveFrom),
    payAsYouGo: ratesOf(body.price),
    currency: 'USD',
    createdBy: body.createdBy,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}

/** What callers are shown of a list price. */
export function pricingRecord(price: Price): ModelPricing {
  const request = [times('input_tokens', 'request_token')];
  if (price.cacheWrite !== undefined) request.push(times('cache_write_tokens', 'cache_write_input_token'));
  if (price.cacheRead !== undefined) request.push(times('cache_read_tokens', 'cache_read_input_token'));
  // Clients of this look-up expect units and their prices alone among the rates.
  const { serviceTiers, longPrompt } = ratesOf(price);
  const { tiers: _, long: __, ...plain } = price;
  return create(ModelPricingSchema, {
    payAsYouGo: ratesOf(plain),
    serviceTiers,
    ...(longPrompt === undefined ? {} : { longPrompt }),
    calculate: { request: sum(request), response: sum([times('output_tokens', 'response_token')]) },
    currency: 'USD',
  });
}

function ratesOf(price: Price): PayAsYouGo {
  const { tiers, long } = price;
  return create(PayAsYouGoSchema, {
    ...shownRates(price),
    ...(tiers === undefined ? {} : { serviceTiers: shownTiers(tiers) }),
    ...(long === undefined
      ? {}
      : {
          longPrompt: {
            above: BigInt(long.above),
            rates: create(TierPricesSchema, shownRates(long)),
            ...(long.tiers === undefined ? {} : { serviceTiers: shownTiers(long.tiers) }),
          },
        }),
  });
}

function shownTiers(tiers: Readonly<Record<string, AllRates>>): Record<string, TierPrices> {
  return Object.fromEntries(
    Object.entries(tiers).map(([tier, rates]) => [tier, create(TierPricesSchema, shownRates(rates))]),
  );
}

function shownRates(rates: AllRates): object {
  const tokens = RATES.flatMap(([own, theirs]) => {
    const rate = rates[own];
    return rate === undefined ? [] : [[theirs, { price: centsOfRate(rate) }] as const];
  });
  const units = UNITS.flatMap(([own, name]) => {
    const rate = rates[own];
    return rate === undefined ? [] : [[name, { price: centsOfRate(rate) }] as const];
  });
  const image: Record<string, { values: Record<string, { price: number }> }> = {};
  for (const [kind, rate] of Object.entries(rates.images ?? {})) {
    const dot = kind.indexOf('.');
    const quality = kind.slice(0, dot);
    const sizes = image[quality] ?? { values: {} };
    image[quality] = sizes;
    sizes.values[kind.slice(dot + 1)] = { price: centsOfRate(rate) };
  }
  return {
    ...Object.fromEntries(tokens),
    ...(units.length === 0 ? {} : { additionalUnits: Object.fromEntries(units) }),
    ...(rates.images === undefined ? {} : { image }),
  };
}

function sum(operands: PriceOperation[]): PriceOperation {
  return create(PriceOperationSchema, { operation: 'sum', operands });
}

function times(tokens: string, rate: string): PriceOperation {
  const operands = [tokens, `rates.${rate}`].map((value) => create(PriceOperationSchema, { value }));
  return create(PriceOperationSchema, { operation: 'multiply', operands });
}
