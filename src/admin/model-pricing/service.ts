// Model pricing: list prices for everybody, and an organisation's own, made, listed, changed, archived.
import { create } from '@bufbuild/protobuf';
import {
  type CreateModelPriceRequest,
  type DeleteModelPriceRequest,
  type DeleteModelPriceResponse,
  DeleteModelPriceResponseSchema,
  type GetModelPriceRequest,
  type GetModelPricingRequest,
  type ListModelPricesRequest,
  type ModelPrice,
  type ModelPriceList,
  ModelPriceListSchema,
  ModelPriceSchema,
  type ModelPricing,
  type UpdateModelPriceRequest,
} from '../../../gen/gateway/admin/v2/model_pricing_pb.ts';
import type { Call } from '../../call/call.ts';
import { type ModelPriceBody, modelPrices } from '../../ledger/prices/price-collections.ts';
import type { PriceList } from '../../ledger/prices/price-list.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import type { Condition } from '../../store/documents.ts';
import { authorOf, callerOf, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { optionalTime } from '../kit/time.ts';
import { entryOf } from '../providers/deps.ts';
import { type ReRateServiceDeps, reRateMethods } from './re-rate.ts';
import { priceOf, priceRecord, pricingRecord } from './record.ts';

export interface ModelPricingDeps extends IdentityDeps, ReRateServiceDeps {
  readonly prices: PriceList;
  /** The catalogue. */
  readonly providerById: (id: string) => ProviderEntry | undefined;
}

/** The methods of ModelPricingService. */
export function modelPricingService(deps: ModelPricingDeps) {
  const { prices, now } = deps;
  const stored = resource(deps, {
    collection: modelPrices,
    noun: 'price',
    shown: shownAs(ModelPriceSchema, priceRecord),
    targetOf: ({ id, body }) => ({ id, name: `${body.provider}/${body.model}` }),
  });
  const named = (call: Call, { priceId }: { readonly priceId: string }) =>
    stored.find(organisationOf(callerOf(call)), priceId);

  return {
    ...reRateMethods(deps),

    async getModelPricing({ provider, model }: GetModelPricingRequest): Promise<ModelPricing> {
      const price = prices.find(provider, model, now());
      const error = 'Model not found';
      // Clients of this look-up expect the error as a text.
      if (price === undefined) throw fail('not_found', error, { members: { error } });
      return pricingRecord(price);
    },

    async createModelPrice(request: CreateModelPriceRequest, call: Call): Promise<ModelPrice> {
      const caller = callerOf(call);
      const { id: provider } = entryOf(deps, request.provider, 'provider');
      const createdAt = now();
      const body: ModelPriceBody = {
        provider,
        model: request.model,
        effectiveFrom: optionalTime('effective_from', request.effectiveFrom) ?? createdAt,
        price: priceOf(request.payAsYouGo),
        createdBy: authorOf(caller),
      };
      const made = stored.draft(organisationOf(caller), body, { at: createdAt });
      return priceRecord(await stored.create(call, made));
    },

    async listModelPrices(request: ListModelPricesRequest, call: Call): Promise<ModelPriceList> {
      const filter: Condition[] = [];
      for (const field of ['provider', 'model'] as const) {
        const value = request[field];
        if (value !== undefined) filter.push({ field, op: 'eq', value });
      }
      const page = await stored.page(organisationOf(callerOf(call)), request, { filter });
      return create(ModelPriceListSchema, { ...listHead(page), data: page.documents.map(priceRecord) });
    },

    async getModelPrice(request: GetModelPriceRequest, call: Call): Promise<ModelPrice> {
      return priceRecord(await named(call, request));
    },

    async updateModelPrice(request: UpdateModelPriceRequest, call: Call): Promise<ModelPrice> {
      if (request.effectiveFrom === undefined && request.payAsYouGo === undefined)
        throw invalidField('', 'there is nothing to change', 'required');
      return retryOnConflict(async () => {
        const before = await named(call, request);
        const body: ModelPriceBody = {
          ...before.body,
          effectiveFrom: optionalTime('effective_from', request.effectiveFrom) ?? before.body.effectiveFrom,
          price: request.payAsYouGo === undefined ? before.body.price : priceOf(request.payAsYouGo),
        };
        return priceRecord(await stored.update(call, before, stored.changed(before, body)));
      });
    },

    async deleteModelPrice(request: DeleteModelPriceRequest, call: Call): Promise<DeleteModelPriceResponse> {
      await stored.archive(call, await named(call, request));
      return create(DeleteModelPriceResponseSchema);
    },
  };
}
