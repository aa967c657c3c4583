// A secret reference that something is configured with stays; whose registry is asked is the composition root's to say.
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import { DeleteSecretReferenceRequestSchema } from '../../gen/gateway/admin/v2/secret_references_pb.ts';
import {
  type SecretReferencesDeps,
  secretReferencesService,
} from '../../src/admin/secret-references/service.ts';
import type { SecretUsers } from '../../src/admin/secret-references/users.ts';
import type { Call } from '../../src/call/call.ts';

/** A service whose store has the one reference, and what it wrote. */
function service(secretUsers: readonly SecretUsers[]) {
  const written: unknown[] = [];
  const reference = {
    id: 'id-1',
    organisationId: 'org-1',
    slug: 'used',
    version: 3,
    status: 'active',
    createdAt: 0,
    updatedAt: 0,
    schemaVersion: 1,
    body: { name: 'Used', managerType: 'env', auth: {}, path: 'A', searchText: 'used', createdBy: 'k' },
  };
  const deps = {
    documents: { get: async () => reference },
    changes: {
      commit: async (_call: unknown, _scope: unknown, operations: unknown) => written.push(operations),
    },
    now: () => 1,
    secretUsers,
  } as unknown as SecretReferencesDeps;
  const call = { principal: { organisationId: 'org-1', workspaceId: undefined } } as unknown as Call;
  const request = create(DeleteSecretReferenceRequestSchema, { secretReferenceId: 'used' });
  return { written, remove: () => secretReferencesService(deps).deleteSecretReference(request, call) };
}

test('a reference that is used stays, and the refusal says by what', async (t) => {
  const asked: unknown[] = [];
  const users = (answer: string | undefined): SecretUsers => ({
    firstUserOf(organisationId, reference) {
      asked.push([organisationId, reference]);
      return answer;
    },
  });
  const used = service([users(undefined), users('the integration openai-prod')]);
  const error = await t.throwsAsync(used.remove(), { message: /used by the integration openai-prod/ });
  t.is((error as { status?: number } | undefined)?.status, 409);
  t.deepEqual(asked[0], ['org-1', { id: 'id-1', slug: 'used' }]);
  t.is(used.written.length, 0);
  const free = service([users(undefined)]);
  await free.remove();
  t.is(free.written.length, 1);
});
