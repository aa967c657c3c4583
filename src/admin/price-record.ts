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
} from '../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { centsOfRate, rateOfCents } from '../ledger/prices/cents.ts';
import type { ModelPriceBody } from '../ledger/prices/collections.ts';
import type { Price } from '../ledger/prices/price.ts';
import { invalidField } from '../lib/errors.ts';
import type { Document } from '../store/documents.ts';
import { defined } from './patch.ts';
import { timeText } from './time.ts';

/** Our rates by the message's, and the message's names as JSON has them. */
const RATES = [
  ['input', 'requestToken', 'request_token'],
  ['output', 'responseToken', 'response_token'],
  ['cacheWrite', 'cacheWriteInputToken', 'cache_write_input_token'],
  ['cacheRead', 'cacheReadInputToken', 'cache_read_input_token'],
  ['inputAudio', 'requestAudioToken', 'request_audio_token'],
  ['outputAudio', 'responseAudioToken', 'response_audio_token'],
  ['reasoning', 'reasoningToken', 'reasoning_token'],
] as const;

/** A price as it is kept. @throws GatewayError validation_failed */
export function priceOf(rates: PayAsYouGo | undefined): Price {
  if (rates?.requestToken === undefined && rates?.responseToken === undefined)
    throw invalidField('pay_as_you_go', 'needs request_token or response_token', 'required');
  const read = RATES.map(([own, theirs, name]) => {
    const cents = rates[theirs]?.price;
    const rate = cents === undefined ? undefined : rateOfCents(cents);
    if (cents !== undefined && rate === undefined)
      throw invalidField(`pay_as_you_go.${name}.price`, 'must not be finer than 1e-10 cents');
    return [own, rate];
  });
  return defined<Price>(Object.fromEntries(read));
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
  return create(ModelPricingSchema, {
    payAsYouGo: ratesOf(price),
    calculate: { request: sum(request), response: sum([times('output_tokens', 'response_token')]) },
    currency: 'USD',
  });
}

function ratesOf(price: Price): PayAsYouGo {
  return create(
    PayAsYouGoSchema,
    Object.fromEntries(
      RATES.flatMap(([own, theirs]) => {
        const rate = price[own];
        return rate === undefined ? [] : [[theirs, { price: centsOfRate(rate) }]];
      }),
    ),
  );
}

function sum(operands: PriceOperation[]): PriceOperation {
  return create(PriceOperationSchema, { operation: 'sum', operands });
}

function times(tokens: string, rate: string): PriceOperation {
  const operands = [tokens, `rates.${rate}`].map((value) => create(PriceOperationSchema, { value }));
  return create(PriceOperationSchema, { operation: 'multiply', operands });
}
