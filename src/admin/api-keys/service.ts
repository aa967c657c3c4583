// API keys: made, listed, changed, rotated, deleted.
import { create } from '@bufbuild/protobuf';
import {
  type ApiKey,
  type ApiKeyList,
  ApiKeyListSchema,
  ApiKeySchema,
  type CreateApiKeyRequest,
  type CreateApiKeyResponse,
  CreateApiKeyResponseSchema,
  type DeleteApiKeyRequest,
  type DeleteApiKeyResponse,
  DeleteApiKeyResponseSchema,
  type GetApiKeyRequest,
  type ListApiKeysRequest,
  type RotateApiKeyRequest,
  type RotateApiKeyResponse,
  RotateApiKeyResponseSchema,
  type UpdateApiKeyRequest,
  type UpdateApiKeyResponse,
  UpdateApiKeyResponseSchema,
} from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { type ApiKeyBody, apiKeys } from '../../access/identity-collections.ts';
import { type KeyHasher, newApiKey } from '../../access/key-hash.ts';
import { type KeyDetails, makeKey, secretParts, withSecret } from '../../access/keys.ts';
import type { Call } from '../../call/call.ts';
import type { KeyKind, Principal } from '../../call/principal.ts';
import type { UsageReader } from '../../ledger/limits/usage.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { KEY_RULES, KEY_RULES_WITHOUT_EXPIRY } from '../kit/bound-rules.ts';
import { bounded, setAboveCaller, setByHigher } from '../kit/bounds.ts';
import { callerOf, checkOrganisation, scopeOf, targetWorkspace } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { defined } from '../kit/patch.ts';
import { newDocument, type Resource, resource, shownAs, tenantOf } from '../kit/resource.ts';
import { timeText } from '../kit/time.ts';
import { checkMaker, checkOwner, type KeyVerb, keyOwner, ownUser, requireVerb } from './access.ts';
import { changedBody, newDetails } from './body.ts';
import { checkKeyConfig } from './config.ts';
import { commitCounted } from './count.ts';
import { keyTerms } from './expiry.ts';
import { keepOne } from './last-organisation-key.ts';
import { listQuery } from './list.ts';
import { apiKeyRecord, inTransition, isExpired, keyUsage, shownSecret } from './record.ts';
import { afterRotation, LEAST_TRANSITION_MS } from './rotation.ts';

/** What the service needs. */
export interface ApiKeysDeps extends IdentityDeps {
  readonly hasher: KeyHasher;
  readonly usage: UsageReader;
}

/** The service's own parts. */
interface KeysRoom extends ApiKeysDeps {
  readonly stored: Resource<ApiKeyBody>;
  /** The key as it is stored, when the caller sees it and may use one of the verbs on it. @throws GatewayError */
  readonly find: (caller: Principal, id: string, ...verbs: KeyVerb[]) => Promise<Document<ApiKeyBody>>;
}

/** The methods of ApiKeysService. */
export function apiKeysService(deps: ApiKeysDeps) {
  const { directory, now } = deps;
  const stored = resource(deps, {
    collection: apiKeys,
    noun: 'API key',
    shown: shownAs(ApiKeySchema, (document) => apiKeyRecord(document, now())),
    // The user's document, where keys of a user are counted.
    writesElsewhere: true,
  });
  const room: KeysRoom = {
    ...deps,
    stored,
    async find(caller, id, ...verbs) {
      const found = await stored.find(scopeOf(caller), id);
      const own = ownUser(directory, caller);
      if (own !== undefined && found.body.userId !== own) throw fail('not_found', 'there is no such API key');
      requireVerb(directory, caller, found.body.kind, ...verbs);
      return found;
    },
  };
  return {
    createApiKey: (request: CreateApiKeyRequest, call: Call) => newKey(room, request, call),
    ...keyChanges(room),
    ...keyReads(room),
  };
}

async function newKey(
  { stored, documents, directory, hasher, now }: KeysRoom,
  request: CreateApiKeyRequest,
  call: Call,
): Promise<CreateApiKeyResponse> {
  const caller = callerOf(call);
  const { organisationId } = caller;
  const kind = kindOf(request);
  requireVerb(directory, caller, kind, 'create');
  checkOrganisation(caller, request.organisationId);
  const workspaceId = placeOf(request, kind, () =>
    targetWorkspace(directory, caller, request.workspaceId, { required: true }),
  );
  if (kind !== 'workspace-user' && request.userId) throw invalidField('user_id', 'is for user keys only');
  const userId =
    kind === 'workspace-user' ? keyOwner(directory, caller, workspaceId ?? '', request.userId) : undefined;
  const at = now();
  const terms = keyTerms(directory, organisationId, workspaceId, kind);
  const given = newDetails(kind, userId, request, terms, at);
  const rules = request.expiresAt === undefined ? KEY_RULES_WITHOUT_EXPIRY : KEY_RULES;
  const details = bounded<KeyDetails>({ directory, now }, caller, rules, undefined, given);
  checkMaker(directory, caller, details.scopes, kind);
  const scope = { organisationId, workspaceId };
  await checkKeyConfig(documents, scope, request.defaults?.configId);
  const { secret, document } = makeKey(hasher, { ...details, ...scope }, at);
  const { id } = document;
  const made = newDocument(apiKeys, scope, document.body, document.createdAt, { id });
  const commit = (also: readonly WriteOperation[] = []) => stored.create(call, made, { also });
  if (userId === undefined || workspaceId === undefined || terms.count === undefined) await commit();
  else await commitCounted(documents, { organisationId, workspaceId, userId }, terms.count, commit);
  return create(CreateApiKeyResponseSchema, { id, key: secret, object: 'api-key' });
}

function keyChanges({ stored, find, documents, directory, hasher, now }: KeysRoom) {
  return withConflictRetries({
    async updateApiKey(request: UpdateApiKeyRequest, call: Call): Promise<UpdateApiKeyResponse> {
      const caller = callerOf(call);
      const before = await find(caller, request.id, 'update');
      const { organisationId, workspaceId, body } = before;
      const terms = keyTerms(directory, organisationId, workspaceId, body.kind);
      const given = changedBody(body, request, terms, now());
      if (request.resetUsage === true) checkReset(directory, caller, body);
      const changed = bounded({ directory, now }, caller, KEY_RULES, body, given, 'workspace');
      await checkKeyConfig(documents, tenantOf(before), request.defaults?.configId);
      const added = changed.scopes.filter((scope) => !body.scopes.includes(scope));
      checkMaker(directory, caller, added, body.kind);
      const also = await keepOne(documents, before, changed, now());
      await stored.update(call, before, stored.changed(before, changed), { also });
      return create(UpdateApiKeyResponseSchema);
    },

    async deleteApiKey(request: DeleteApiKeyRequest, call: Call): Promise<DeleteApiKeyResponse> {
      const before = await find(callerOf(call), request.id, 'delete');
      await stored.archive(call, before, { also: await keepOne(documents, before, undefined, now()) });
      return create(DeleteApiKeyResponseSchema);
    },

    async rotateApiKey(request: RotateApiKeyRequest, call: Call): Promise<RotateApiKeyResponse> {
      const caller = callerOf(call);
      const before = await find(caller, request.id, 'rotate', 'update');
      const { id, body } = before;
      const at = now();
      checkRotation(directory, caller, before, at);
      const asked = request.keyTransitionPeriodMs ?? body.rotation?.transitionMs ?? LEAST_TRANSITION_MS;
      const until = Math.min(at + Number(asked), body.expiresAt ?? Number.POSITIVE_INFINITY);
      const secret = newApiKey();
      const rotation = body.rotation && afterRotation(body.rotation, at);
      const due = defined<ApiKeyBody>({ ...body, rotation });
      const keyTransitionExpiresAt = timeText(until);
      const after = stored.changed(before, withSecret(due, secretParts(hasher, secret), until));
      const told = {
        rotation_mode: 'manual',
        old_key_masked: shownSecret(body),
        transition_expires_at: keyTransitionExpiresAt,
      };
      await stored.update(call, before, after, { after: { ...stored.shown(after), ...told } });
      return create(RotateApiKeyResponseSchema, { id, key: secret, keyTransitionExpiresAt });
    },
  });
}

function keyReads({ find, documents, directory, usage, now }: KeysRoom) {
  return {
    async listApiKeys(request: ListApiKeysRequest, call: Call): Promise<ApiKeyList> {
      const caller = callerOf(call);
      checkOrganisation(caller, request.organisationId);
      const query = listQuery(directory, caller, request);
      if (query === undefined) return create(ApiKeyListSchema, { object: 'list' });
      const page = await documents.page(query.scope, apiKeys, query.page);
      const at = now();
      const data = await Promise.all(
        page.documents.map(async (document) => apiKeyRecord(document, at, await keyUsage(usage, document))),
      );
      return create(ApiKeyListSchema, { ...listHead(page), data });
    },

    async getApiKey(request: GetApiKeyRequest, call: Call): Promise<ApiKey> {
      const found = await find(callerOf(call), request.id, 'read');
      return apiKeyRecord(found, now(), await keyUsage(usage, found));
    },
  };
}

/** The new secret will be the caller's to use. @throws GatewayError conflict, forbidden. */
function checkRotation(
  directory: Directory,
  caller: Principal,
  { workspaceId, body }: Document<ApiKeyBody>,
  at: number,
): void {
  if (isExpired(body, at)) throw fail('conflict', 'the key has expired: give it another expires_at first');
  if (inTransition(body, at))
    throw fail('conflict', 'the secret before the last rotation still works: a key has two at the most');
  checkMaker(directory, caller, body.scopes, body.kind);
  if (body.userId !== undefined && workspaceId !== undefined)
    checkOwner(directory, caller, workspaceId, body.userId);
}

/** Usage that starts again from zero is a loosened limit. @throws GatewayError forbidden. */
function checkReset(directory: Directory, caller: Principal, body: ApiKeyBody): void {
  const set = setAboveCaller(directory, caller, body, 'usage_limits', body.usageLimits, 'workspace');
  if (set !== undefined) throw setByHigher('reset_usage', set, 'its usage is theirs to reset');
}

/** The kind that a path names. @throws GatewayError validation_failed for one that there is not. */
function kindOf({ type, subType }: CreateApiKeyRequest): KeyKind {
  if (type === 'workspace') return subType === 'user' ? 'workspace-user' : 'workspace-service';
  if (subType === 'user') throw invalidField('sub_type', 'an organisation has no user keys: take service');
  return 'organisation-service';
}

/** The key's workspace; undefined for keys of the organisation. @throws GatewayError validation_failed. */
function placeOf(
  { workspaceId }: CreateApiKeyRequest,
  kind: KeyKind,
  target: () => string | undefined,
): string | undefined {
  if (kind !== 'organisation-service') return target();
  if (workspaceId) throw invalidField('workspace_id', 'is for keys of a workspace only');
  return undefined;
}
