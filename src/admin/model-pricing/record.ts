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
import type { Price, Rates } from '../../ledger/prices/price.ts';
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
  ['cacheRead', 'cacheReadInputToken', 'cache_read_input_token'],
  ['inputAudio', 'requestAudioToken', 'request_audio_token'],
  ['outputAudio', 'responseAudioToken', 'response_audio_token'],
  ['reasoning', 'reasoningToken', 'reasoning_token'],
  ['inputImage', 'requestImageToken', 'request_image_token'],
  ['outputImage', 'responseImageToken', 'response_image_token'],
  ['cacheReadAudio', 'cacheReadAudioInputToken', 'cache_read_audio_input_token'],
] as const;

/** The price of a call, as it is named among the further units. */
const PER_CALL = 'request';

/** A price as it is kept. @throws GatewayError validation_failed */
export function priceOf(given: PayAsYouGo | undefined): Price {
  if (given?.requestToken === undefined && given?.responseToken === undefined)
    throw invalidField('pay_as_you_go', 'needs request_token or response_token', 'required');
  const at = 'pay_as_you_go';
  const perCall = given.additionalUnits[PER_CALL]?.price;
  const { longPrompt } = given;
  return defined<Price>({
    ...readRates(given, at),
    perCall: perCall === undefined ? undefined : rateOf(perCall, `${at}.additional_units.${PER_CALL}`),
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
): Readonly<Record<string, Rates>> | undefined {
  const tiers = Object.entries(given);
  if (tiers.length === 0) return undefined;
  return Object.fromEntries(tiers.map(([tier, rates]) => [tier, readRates(rates, `${field}.${tier}`)]));
}

function readRates(given: PayAsYouGo | TierPrices | undefined, field: string): Rates {
  const read = RATES.map(([own, theirs, name]) => {
    const cents = given?.[theirs]?.price;
    return [own, cents === undefined ? undefined : rateOf(cents, `${field}.${name}`)];
  });
  return defined<Rates>(Object.fromEntries(read));
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
  const { perCall, tiers, long } = price;
  return create(PayAsYouGoSchema, {
    ...shownRates(price),
    ...(perCall === undefined ? {} : { additionalUnits: { [PER_CALL]: { price: centsOfRate(perCall) } } }),
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

function shownTiers(tiers: Readonly<Record<string, Rates>>): Record<string, TierPrices> {
  return Object.fromEntries(
    Object.entries(tiers).map(([tier, rates]) => [tier, create(TierPricesSchema, shownRates(rates))]),
  );
}

function shownRates(rates: Rates): Record<string, { price: number }> {
  return Object.fromEntries(
    RATES.flatMap(([own, theirs]) => {
      const rate = rates[own];
      return rate === undefined ? [] : [[theirs, { price: centsOfRate(rate) }] as const];
    }),
  );
}

function sum(operands: PriceOperation[]): PriceOperation {
  return create(PriceOperationSchema, { operation: 'sum', operands });
}

function times(tokens: string, rate: string): PriceOperation {
  const operands = [tokens, `rates.${rate}`].map((value) => create(PriceOperationSchema, { value }));
  return create(PriceOperationSchema, { operation: 'multiply', operands });
}
