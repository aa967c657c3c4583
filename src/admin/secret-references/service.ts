// Secret references: made, listed, changed, tested, archived.
import { randomUUID } from 'node:crypto';
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
import { codec } from '../../rest/codec.ts';
import { faultOf } from '../../secrets/failure.ts';
import type { SecretReferenceDocument } from '../../secrets/references.ts';
import { secretReferences } from '../../secrets/secret-collections.ts';
import type { Secrets } from '../../secrets/secrets.ts';
import type { JsonObject } from '../../store/collection.ts';
import { archiveOperation, type Condition, insertOperation, updateOperation } from '../../store/documents.ts';
import { authorOf, callerOf, found, organisationOf } from '../kit/caller.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
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
  const { documents, changes, secrets, secretUsers, now } = deps;

  async function named(call: Call, idOrSlug: string): Promise<SecretReferenceDocument> {
    const scope = organisationOf(callerOf(call));
    return found(await documents.get(scope, secretReferences, idOrSlug), 'secret reference');
  }

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
      const document = { id: randomUUID(), slug, createdAt: now(), body };
      const made = {
        ...document,
        organisationId,
        updatedAt: document.createdAt,
        version: 1,
        status: 'active' as const,
        schemaVersion: secretReferences.schemaVersion,
      };
      const operation = insertOperation(secretReferences, document);
      const target = { id: document.id, name: body.name, after: shown(made) };
      await changes.commit(call, organisationOf(caller), [operation], target);
      return create(CreateSecretReferenceResponseSchema, { id: document.id, slug, object: OBJECT });
    },

    async listSecretReferences(
      request: ListSecretReferencesRequest,
      call: Call,
    ): Promise<SecretReferenceList> {
      const filter: Condition[] = tagConditions(wantedTags(request.tags));
      const { managerType, search } = request;
      if (managerType !== undefined) filter.push({ field: 'managerType', op: 'eq', value: managerType });
      if (search !== undefined)
        filter.push({ field: 'searchText', op: 'contains', value: search.toLowerCase() });
      const page = await documents.page(organisationOf(callerOf(call)), secretReferences, {
        ...newestFirst({ currentPage: request.currentPage, pageSize: request.pageSize ?? DEFAULT_PAGE_SIZE }),
        filter,
      });
      const data = page.documents.map(secretReferenceSummary);
      return create(SecretReferenceListSchema, { ...listHead(page), data });
    },

    async getSecretReference(request: GetSecretReferenceRequest, call: Call): Promise<SecretReference> {
      return secretReferenceRecord(await named(call, request.secretReferenceId));
    },

    async updateSecretReference(
      request: UpdateSecretReferenceRequest,
      call: Call,
    ): Promise<UpdateSecretReferenceResponse> {
      await retryOnConflict(async () => {
        const before = await named(call, request.secretReferenceId);
        const { id, organisationId, slug = '', version } = before;
        const body = changedSecretBody(deps, organisationId, slug, before.body, request);
        const updatedAt = now();
        const operation = updateOperation(secretReferences, id, version, { body, updatedAt });
        await changes.commit(call, organisationOf(callerOf(call)), [operation], {
          id,
          name: body.name,
          before: shown(before),
          after: shown({ ...before, body, updatedAt }),
        });
      });
      return create(UpdateSecretReferenceResponseSchema);
    },

    async deleteSecretReference(
      request: DeleteSecretReferenceRequest,
      call: Call,
    ): Promise<DeleteSecretReferenceResponse> {
      const before = await named(call, request.secretReferenceId);
      const { id, organisationId, slug = '', version } = before;
      const user = await firstUser(secretUsers, organisationId, { id, slug });
      if (user !== undefined)
        throw fail('conflict', `the secret reference is used by ${user}: take it out there first`);
      const operation = archiveOperation(secretReferences, id, { version, updatedAt: now() });
      const target = { id, name: before.body.name, before: shown(before) };
      await changes.commit(call, organisationOf(callerOf(call)), [operation], target);
      return create(DeleteSecretReferenceResponseSchema);
    },

    async testSecretReference(
      request: TestSecretReferenceRequest,
      call: Call,
    ): Promise<TestSecretReferenceResponse> {
      const reference = await named(call, request.secretReferenceId);
      const object = 'secret-reference-test';
      try {
        await secrets.test(reference);
        return create(TestSecretReferenceResponseSchema, { success: true, object });
      } catch (error) {
        const message = error instanceof GatewayError ? error.message : 'the secret cannot be read';
        return create(TestSecretReferenceResponseSchema, { reason: faultOf(error), message, object });
      }
    },
  };
}

function shown(document: SecretReferenceDocument): JsonObject {
  return codec.encode(SecretReferenceSchema, secretReferenceRecord(document)) as JsonObject;
}
