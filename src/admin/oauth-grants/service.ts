// Grants of MCP clients: shown and ended by the people who gave them, and by admins.
import { create } from '@bufbuild/protobuf';
import {
  type DeleteOauthGrantRequest,
  DeleteOauthGrantResponseSchema,
  type DeleteOauthGrantsRequest,
  DeleteOauthGrantsResponseSchema,
  type ListOauthGrantsRequest,
  type OauthGrant,
  OauthGrantListSchema,
  OauthGrantSchema,
} from '../../../gen/gateway/admin/v2/oauth_grants_pb.ts';
import type { KeyRing } from '../../access/key-ring.ts';
import { type OauthGrantBody, oauthGrants } from '../../access/oauth/grant-collection.ts';
import type { GrantRing } from '../../access/oauth/grant-ring.ts';
import { governs } from '../../access/roles.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import type { Document } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { timeText } from '../kit/time.ts';

type Grant = Document<OauthGrantBody>;

export interface OauthGrantsDeps extends IdentityDeps {
  readonly grants: GrantRing;
  readonly keys: KeyRing;
}

const DEFAULT_PAGE_SIZE = 100;

/** The methods of OauthGrantsService. */
export function oauthGrantsService(deps: OauthGrantsDeps) {
  const { grants, directory } = deps;
  const stored = resource(deps, {
    collection: oauthGrants,
    noun: 'grant',
    shown: shownAs(OauthGrantSchema, (grant: Grant) => grantRecord(deps, grant)),
  });
  const mayAll = (principal: Principal, scope: string): boolean =>
    governs(directory, principal) && principal.scopes.has(scope);
  const seenBy = (principal: Principal, scope: string): Grant[] => {
    const all = mayAll(principal, scope);
    return [...grants.of(principal.organisationId)].filter((grant) => all || isOwn(principal, grant));
  };
  const end = async (call: Call, ended: readonly Grant[], target: { id: string; name: string }) => {
    const written = await stored.archiveAll(call, organisationOf(callerOf(call)), ended, target);
    for (const document of written) grants.replica.apply(document);
  };

  return withConflictRetries({
    async listOauthGrants(request: ListOauthGrantsRequest, call: Call) {
      const { currentPage = 0, pageSize = DEFAULT_PAGE_SIZE, userId, clientId } = request;
      const found = seenBy(callerOf(call), 'organisation_users.list').filter(
        ({ body }) =>
          (userId === undefined || body.userId === userId) &&
          (clientId === undefined || body.clientId === clientId),
      );
      const page = found.slice(currentPage * pageSize, (currentPage + 1) * pageSize);
      return create(OauthGrantListSchema, {
        object: 'list',
        total: BigInt(found.length),
        data: page.map((grant) => grantRecord(deps, grant)),
      });
    },

    async deleteOauthGrant({ oauthGrantId }: DeleteOauthGrantRequest, call: Call) {
      const grant = seenBy(callerOf(call), 'organisation_users.delete').find(({ id }) => id === oauthGrantId);
      if (grant === undefined) throw fail('not_found', `there is no grant ${oauthGrantId}`);
      await end(call, [grant], { id: grant.id, name: grant.body.clientName });
      return create(DeleteOauthGrantResponseSchema);
    },

    async deleteOauthGrants({ clientId }: DeleteOauthGrantsRequest, call: Call) {
      const found = seenBy(callerOf(call), 'organisation_users.delete').filter(
        ({ body }) => body.clientId === clientId,
      );
      const name = found[0]?.body.clientName ?? '';
      await end(call, found, { id: found[0]?.body.clientKey ?? '', name });
      return create(DeleteOauthGrantsResponseSchema, { ended: found.length });
    },
  });
}

function isOwn({ userId, keyId }: Principal, { body }: Grant): boolean {
  return userId === undefined ? body.userId === undefined && body.keyId === keyId : body.userId === userId;
}

/** What callers are shown of a grant. */
function grantRecord({ directory, keys }: OauthGrantsDeps, grant: Grant): OauthGrant {
  const { id, organisationId, workspaceId = '', createdAt, body } = grant;
  const { userId = '', keyId = '' } = body;
  const email = directory.user(organisationId, userId)?.body.email;
  return create(OauthGrantSchema, {
    object: 'oauth-grant',
    id,
    clientId: body.clientId,
    clientName: body.clientName,
    ...(body.clientHost === undefined ? {} : { clientHost: body.clientHost }),
    redirectHost: body.redirectHost,
    userId,
    keyId,
    name: email ?? keys.replica.get(organisationId, keyId)?.principal.keyName ?? '',
    workspaceId,
    ...(body.serverId === undefined ? {} : { mcpServerId: body.serverId }),
    resource: body.resource,
    scope: body.scope,
    createdAt: timeText(createdAt),
    lastRenewedAt: timeText(body.usedAt),
    expiresAt: timeText(body.expiresAt),
  });
}
