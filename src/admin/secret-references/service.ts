// Secret references: made, listed, changed, tested, archived.
import { create } from '@bufbuild/protobuf';
import {
  type CreateSecretReferenceRequest,
  type CreateSecretReferenceResponse,
  CreateSecretReferenceResponseSchema,
  type DeleteSecretReferenceRequest,
  type DeleteSecretReferenceResponse,
  DeleteSecretReferenceResponseSchema,
  type GetSecretReferenceRequest,
  type ListSecretReferencesRequest,
  type SecretReference,
  type SecretReferenceList,
  SecretReferenceListSchema,
  SecretReferenceSchema,
  type TestSecretReferenceRequest,
  type TestSecretReferenceResponse,
  TestSecretReferenceResponseSchema,
  type UpdateSecretReferenceRequest,
  type UpdateSecretReferenceResponse,
  UpdateSecretReferenceResponseSchema,
} from '../../../gen/gateway/admin/v2/secret_references_pb.ts';
import { tagConditions } from '../../access/providers/tags.ts';
import type { Call } from '../../call/call.ts';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import { faultOf } from '../../secrets/failure.ts';
import type { SecretReferenceDocument } from '../../secrets/references.ts';
import { secretReferences } from '../../secrets/secret-collections.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { Condition } from '../../store/documents.ts';
import { authorOf, callerOf, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { retryOnConflict } from '../kit/retry-on-conflict.ts';
import { newSlug } from '../kit/slug.ts';
import { wantedTags } from '../kit/tags.ts';
import type { SecretAuthDeps } from './auth.ts';
import { changedSecretBody, newSecretBody } from './body.ts';
import { secretReferenceRecord, secretReferenceSummary } from './record.ts';
import { firstUser, type SecretUsers } from './users.ts';

export interface SecretReferencesDeps extends IdentityDeps, SecretAuthDeps {
  readonly secrets: Secrets;
  /** All kinds of things that may use a reference. */
  readonly secretUsers: readonly SecretUsers[];
}

const DEFAULT_PAGE_SIZE = 20;
const OBJECT = 'secret-reference';

/** The methods of SecretReferencesService. */
export function secretReferencesService(deps: SecretReferencesDeps) {
  const { secrets, secretUsers } = deps;
  const stored = resource(deps, {
    collection: secretReferences,
    noun: 'secret reference',
    shown: shownAs(SecretReferenceSchema, secretReferenceRecord),
  });
  const named = (call: Call, { secretReferenceId }: { readonly secretReferenceId: string }) =>
    stored.find(organisationOf(callerOf(call)), secretReferenceId);

  return {
    async createSecretReference(
      request: CreateSecretReferenceRequest,
      call: Call,
    ): Promise<CreateSecretReferenceResponse> {
      const caller = callerOf(call);
      const { organisationId } = caller;
      if ((request.organisationId ?? organisationId) !== organisationId)
        throw invalidField('organisation_id', "must be the caller's organisation");
      const slug = newSlug(request.slug, '', request.name, 40);
      const body = newSecretBody(deps, organisationId, authorOf(caller), slug, request);
      const { id } = await stored.create(call, stored.draft(organisationOf(caller), body, { slug }));
      return create(CreateSecretReferenceResponseSchema, { id, slug, object: OBJECT });
    },

    async listSecretReferences(
      request: ListSecretReferencesRequest,
      call: Call,
    ): Promise<SecretReferenceList> {
      const { managerType, search, currentPage, pageSize = DEFAULT_PAGE_SIZE } = request;
      const filter: Condition[] = tagConditions(wantedTags(request.tags));
      if (managerType !== undefined) filter.push({ field: 'managerType', op: 'eq', value: managerType });
      if (search !== undefined)
        filter.push({ field: 'searchText', op: 'contains', value: search.toLowerCase() });
      const place = { currentPage, pageSize };
      const page = await stored.page(organisationOf(callerOf(call)), place, { filter });
      const data = page.documents.map(secretReferenceSummary);
      return create(SecretReferenceListSchema, { ...listHead(page), data });
    },

    async getSecretReference(request: GetSecretReferenceRequest, call: Call): Promise<SecretReference> {
      return secretReferenceRecord(await named(call, request));
    },

    async updateSecretReference(
      request: UpdateSecretReferenceRequest,
      call: Call,
    ): Promise<UpdateSecretReferenceResponse> {
      await retryOnConflict(async () => {
        const before = await named(call, request);
        const { organisationId, slug = '' } = before;
        const body = changedSecretBody(deps, organisationId, slug, before.body, request);
        await stored.update(call, before, stored.changed(before, body));
      });
      return create(UpdateSecretReferenceResponseSchema);
    },

    async deleteSecretReference(
      request: DeleteSecretReferenceRequest,
      call: Call,
    ): Promise<DeleteSecretReferenceResponse> {
      const before = await named(call, request);
      const { id, slug = '' } = before;
      const user = await firstUser(secretUsers, before.organisationId, { id, slug });
      if (user !== undefined)
        throw fail('conflict', `the secret reference is used by ${user}: take it out there first`);
      await stored.archive(call, before);
      return create(DeleteSecretReferenceResponseSchema);
    },

    async testSecretReference(
      request: TestSecretReferenceRequest,
      call: Call,
    ): Promise<TestSecretReferenceResponse> {
      return tested(secrets, await named(call, request));
    },
  };
}

async function tested(
  secrets: Secrets,
  reference: SecretReferenceDocument,
): Promise<TestSecretReferenceResponse> {
  const object = 'secret-reference-test';
  try {
    await secrets.test(reference);
    return create(TestSecretReferenceResponseSchema, { success: true, object });
  } catch (error) {
    const message = error instanceof GatewayError ? error.message : 'the secret cannot be read';
    return create(TestSecretReferenceResponseSchema, { reason: faultOf(error), message, object });
  }
}
