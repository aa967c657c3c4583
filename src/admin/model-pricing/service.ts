// Model pricing: list prices for everybody, and an organisation's own, made, listed, changed, archived.
import { randomUUID } from 'node:crypto';
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
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type Document,
  insertOperation,
  updateOperation,
} from '../../store/documents.ts';
import { authorOf, callerOf, found, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
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

type PriceDocument = Document<ModelPriceBody>;

/** The methods of ModelPricingService. */
export function modelPricingService(deps: ModelPricingDeps) {
  const { documents, changes, prices, now } = deps;

  async function named(call: Call, id: string): Promise<PriceDocument> {
    return found(await documents.get(organisationOf(callerOf(call)), modelPrices, id), 'price');
  }

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
      const document = { id: randomUUID(), createdAt, body };
      const record = priceRecord({
        ...document,
        organisationId: caller.organisationId,
        updatedAt: createdAt,
        version: 1,
        status: 'active',
        schemaVersion: modelPrices.schemaVersion,
      });
      const target = { ...targetOf(document), after: shown(record) };
      await changes.commit(call, organisationOf(caller), [insertOperation(modelPrices, document)], target);
      return record;
    },

    async listModelPrices(request: ListModelPricesRequest, call: Call): Promise<ModelPriceList> {
      const filter: Condition[] = [];
      for (const field of ['provider', 'model'] as const) {
        const value = request[field];
        if (value !== undefined) filter.push({ field, op: 'eq', value });
      }
      const scope = organisationOf(callerOf(call));
      const page = await documents.page(scope, modelPrices, { ...newestFirst(request), filter });
      return create(ModelPriceListSchema, { ...listHead(page), data: page.documents.map(priceRecord) });
    },

    async getModelPrice(request: GetModelPriceRequest, call: Call): Promise<ModelPrice> {
      return priceRecord(await named(call, request.priceId));
    },

    async updateModelPrice(request: UpdateModelPriceRequest, call: Call): Promise<ModelPrice> {
      if (request.effectiveFrom === undefined && request.payAsYouGo === undefined)
        throw invalidField('', 'there is nothing to change', 'required');
      return retryOnConflict(async () => {
        const before = await named(call, request.priceId);
        const body: ModelPriceBody = {
          ...before.body,
          effectiveFrom: optionalTime('effective_from', request.effectiveFrom) ?? before.body.effectiveFrom,
          price: request.payAsYouGo === undefined ? before.body.price : priceOf(request.payAsYouGo),
        };
        const updatedAt = now();
        const record = priceRecord({ ...before, body, updatedAt });
        const operation = updateOperation(modelPrices, before.id, before.version, { body, updatedAt });
        await changes.commit(call, organisationOf(callerOf(call)), [operation], {
          ...targetOf(before),
          before: shown(priceRecord(before)),
          after: shown(record),
        });
        return record;
      });
    },

    async deleteModelPrice(request: DeleteModelPriceRequest, call: Call): Promise<DeleteModelPriceResponse> {
      const before = await named(call, request.priceId);
      const order = { version: before.version, updatedAt: now() };
      await changes.commit(
        call,
        organisationOf(callerOf(call)),
        [archiveOperation(modelPrices, before.id, order)],
        { ...targetOf(before), before: shown(priceRecord(before)) },
      );
      return create(DeleteModelPriceResponseSchema);
    },
  };
}

function targetOf({ id, body }: Pick<PriceDocument, 'id' | 'body'>) {
  return { id, name: `${body.provider}/${body.model}` };
}

function shown(record: ModelPrice): JsonObject {
  return codec.encode(ModelPriceSchema, record) as JsonObject;
}
