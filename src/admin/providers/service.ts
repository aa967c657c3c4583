// Stored providers, as /providers shows them: each belongs to an integration.
import { create } from '@bufbuild/protobuf';
import {
  type CreateProviderRequest,
  type CreateProviderResponse,
  CreateProviderResponseSchema,
  type DeleteProviderRequest,
  type DeleteProviderResponse,
  DeleteProviderResponseSchema,
  type GetProviderRequest,
  type ListProvidersRequest,
  type Provider,
  type ProviderList,
  ProviderListSchema,
  ProviderSchema,
  type UpdateProviderRequest,
  type UpdateProviderResponse,
  UpdateProviderResponseSchema,
} from '../../../gen/gateway/admin/v2/providers_pb.ts';
import { integrations, type ProviderBody } from '../../access/providers/provider-collections.ts';
import { accessOf } from '../../access/providers/workspace-access.ts';
import type { Call } from '../../call/call.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { pick } from '../integrations/credentials.ts';
import { callerOf, organisationOf, targetWorkspace } from '../kit/caller.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { CLEARABLE_TERMS, changedTerms, newTerms } from './body.ts';
import type { ProviderDeps } from './deps.ts';
import { providerRecord, providerUsage } from './record.ts';
import { storedProviderOperations } from './stored.ts';

/** The methods of ProvidersService. */
export function providersService(deps: ProviderDeps) {
  const { documents, directory, usage, now } = deps;
  const stored = storedProviderOperations(deps, {
    name: 'stored provider',
    perWorkspace: true,
    shown: (document) => codec.encode(ProviderSchema, providerRecord(document, now())) as JsonObject,
  });

  return {
    async createProvider(request: CreateProviderRequest, call: Call): Promise<CreateProviderResponse> {
      const caller = callerOf(call);
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId, { required: true }) ?? '';
      const integration = await documents.get(organisationOf(caller), integrations, request.integrationId);
      if (integration === undefined || !accessOf(integration, workspaceId).enabled)
        throw invalidField('integration_id', 'names no integration that the workspace may use');
      const body = defined<ProviderBody>({
        name: request.name,
        aiProviderId: integration.body.aiProviderId,
        integrationId: integration.id,
        ...newTerms(request, now()),
      });
      const { id, slug = '' } = await stored.make(call, workspaceId, request.slug, body);
      return create(CreateProviderResponseSchema, { id, slug, object: 'provider' });
    },

    async listProviders(request: ListProvidersRequest, call: Call): Promise<ProviderList> {
      const page = await stored.list(call, request);
      const at = now();
      const data = await Promise.all(
        page.documents.map(async (document) =>
          providerRecord(document, at, await providerUsage(usage, document)),
        ),
      );
      return create(ProviderListSchema, { ...listHead(page), data });
    },

    async getProvider(request: GetProviderRequest, call: Call): Promise<Provider> {
      const found = await stored.find(call, request);
      return providerRecord(found, now(), await providerUsage(usage, found));
    },

    async updateProvider(request: UpdateProviderRequest, call: Call): Promise<UpdateProviderResponse> {
      const fields = patch(request.clear, CLEARABLE_TERMS);
      const { id, slug = '' } = await stored.update(call, request, ({ body }, at) => ({
        ...changedTerms(body, request, fields, at),
        ...pick(body),
      }));
      return create(UpdateProviderResponseSchema, { id, slug });
    },

    async deleteProvider(request: DeleteProviderRequest, call: Call): Promise<DeleteProviderResponse> {
      await stored.archive(call, request);
      return create(DeleteProviderResponseSchema);
    },
  };
}
