// Stored providers, as /virtual-keys shows them: with credentials of their own.
import { create } from '@bufbuild/protobuf';
import {
  type CreateVirtualKeyRequest,
  type CreateVirtualKeyResponse,
  CreateVirtualKeyResponseSchema,
  type DeleteVirtualKeyRequest,
  type DeleteVirtualKeyResponse,
  DeleteVirtualKeyResponseSchema,
  type GetVirtualKeyRequest,
  type ListVirtualKeysRequest,
  type UpdateVirtualKeyRequest,
  type UpdateVirtualKeyResponse,
  UpdateVirtualKeyResponseSchema,
  type VirtualKey,
  type VirtualKeyList,
  VirtualKeyListSchema,
  VirtualKeySchema,
} from '../../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import type { ProviderBody } from '../../access/providers/provider-collections.ts';
import type { Call } from '../../call/call.ts';
import type { Usage } from '../../ledger/limits/usage.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { changedCredentials, newCredentials, pick } from '../integrations/credentials.ts';
import { callerOf, targetWorkspace } from '../kit/caller.ts';
import { listHead } from '../kit/lists.ts';
import { defined, patch } from '../kit/patch.ts';
import { CLEARABLE_TERMS, changedTerms, newTerms } from '../providers/body.ts';
import { entryOf, type ProviderDeps } from '../providers/deps.ts';
import { providerUsage, virtualKeyRecord } from '../providers/record.ts';
import { storedProviderOperations } from '../providers/stored.ts';
import { grantedMappings } from '../secret-references/mapping-rights.ts';
import { readMappings } from '../secret-references/mappings.ts';
import { defaultOptions, givenOptions, memberOf, OPTION_MEMBERS } from './options.ts';

const CLEARABLE = ['key', 'secret_mappings', ...CLEARABLE_TERMS, ...OPTION_MEMBERS];

const GROUP = 'model_config';

/** Which fields of the credentials an update is about. */
function givenFields({ key, clear, secretMappings }: UpdateVirtualKeyRequest, options: JsonObject): string[] {
  return [
    ...(key !== undefined || clear.includes('key') ? ['key'] : []),
    ...Object.keys(options).map(memberOf),
    ...(secretMappings.length > 0 || clear.includes('secret_mappings') ? ['secret_mappings'] : []),
  ];
}

/** The methods of VirtualKeysService. */
export function virtualKeysService(deps: ProviderDeps) {
  const { directory, usage, now } = deps;
  const record = (document: Document<ProviderBody>, standing?: Usage) =>
    virtualKeyRecord(directory, document, now(), standing);
  const told = async (document: Document<ProviderBody>): Promise<VirtualKey> =>
    record(document, await providerUsage(usage, document));
  const stored = storedProviderOperations(deps, {
    name: 'virtual key',
    perWorkspace: false,
    shown: (document) => codec.encode(VirtualKeySchema, record(document)) as JsonObject,
  });

  return {
    async createVirtualKey(request: CreateVirtualKeyRequest, call: Call): Promise<CreateVirtualKeyResponse> {
      const caller = callerOf(call);
      const workspaceId = targetWorkspace(directory, caller, request.workspaceId, { required: true }) ?? '';
      const entry = entryOf(deps, request.provider, 'provider');
      const place = { organisationId: caller.organisationId, workspaceId, group: GROUP };
      const mappings = readMappings(deps, entry, request.secretMappings, place);
      const options = { ...defaultOptions(entry), ...givenOptions(request) };
      const made = defined<ProviderBody>({
        name: request.name,
        aiProviderId: entry.id,
        ...newCredentials(deps, entry, { key: request.key, options, mappings }, memberOf),
        ...newTerms(request, now()),
      });
      const body = grantedMappings(deps, caller, entry, undefined, made, memberOf);
      const { id, slug = '' } = await stored.make(call, workspaceId, request.slug, body);
      const head = { id, slug, object: 'virtual-key', success: true };
      return create(CreateVirtualKeyResponseSchema, { ...head, data: { slug } });
    },

    async listVirtualKeys(request: ListVirtualKeysRequest, call: Call): Promise<VirtualKeyList> {
      const page = await stored.list(call, request);
      const data = await Promise.all(page.documents.map(told));
      return create(VirtualKeyListSchema, { ...listHead(page), data });
    },

    async getVirtualKey(request: GetVirtualKeyRequest, call: Call): Promise<VirtualKey> {
      return told(await stored.find(call, request));
    },

    async updateVirtualKey(request: UpdateVirtualKeyRequest, call: Call): Promise<UpdateVirtualKeyResponse> {
      const fields = patch(request.clear, CLEARABLE);
      const options = givenOptions(request, request.clear);
      const { id, slug = '' } = await stored.update(call, request, (before, at) => {
        const { organisationId, workspaceId, body } = before;
        const terms = changedTerms(body, request, fields, at);
        const given = givenFields(request, options);
        if (given.length === 0) return { ...terms, ...pick(body) };
        if (body.integrationId !== undefined)
          throw invalidField(
            given[0] as string,
            'belongs to the integration of this virtual key: change it there',
          );
        const entry = entryOf(deps, body.aiProviderId, 'provider');
        const place = { organisationId, workspaceId, group: GROUP };
        const mappings = readMappings(deps, entry, request.secretMappings, place);
        const change = {
          key: request.key,
          options,
          merges: true,
          clearOptions: false,
          clearKey: fields.cleared('key'),
          mappings: mappings.length > 0 ? mappings : undefined,
          clearMappings: fields.cleared('secret_mappings'),
        };
        const made = { ...terms, ...changedCredentials(deps, entry, body, change, memberOf) };
        return grantedMappings(deps, callerOf(call), entry, body, made, memberOf);
      });
      return create(UpdateVirtualKeyResponseSchema, { id, slug, object: 'virtual-key' });
    },

    async deleteVirtualKey(request: DeleteVirtualKeyRequest, call: Call): Promise<DeleteVirtualKeyResponse> {
      await stored.archive(call, request);
      return create(DeleteVirtualKeyResponseSchema);
    },
  };
}
