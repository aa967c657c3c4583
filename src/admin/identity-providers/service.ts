// Identity providers of an organisation: made, listed, changed, deleted.
import { randomUUID } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import {
  type CreateIdentityProviderRequest,
  type DeleteIdentityProviderRequest,
  DeleteIdentityProviderResponseSchema,
  type GetIdentityProviderRequest,
  type IdentityProvider,
  IdentityProviderListSchema,
  IdentityProviderSchema,
  type ListIdentityProvidersRequest,
  type UpdateIdentityProviderRequest,
} from '../../../gen/gateway/admin/v2/identity_providers_pb.ts';
import {
  type IdentityProviderBody,
  identityProviders,
} from '../../access/sign-in/identity-provider-collection.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import { archiveOperation, type Document, insertOperation, updateOperation } from '../../store/documents.ts';
import { callerOf, found, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead, newestFirst } from '../kit/lists.ts';
import { newSlug } from '../kit/slug.ts';
import { tellingTaken } from '../kit/taken.ts';
import { timeText } from '../kit/time.ts';
import { shownMappings } from '../secret-references/mappings.ts';
import { type BodyDeps, changedIdentityProvider, newIdentityProvider } from './body.ts';

export interface IdentityProvidersDeps extends IdentityDeps, BodyDeps {
  /** Where people reach the gateway. */
  readonly publicUrl: () => string;
  /** Whose sign-in page needs no organisation in its address. */
  readonly homeOrganisationId: string;
}

type Stored = Document<IdentityProviderBody>;

const MOST = 20;
const TAKEN = { field: 'slug', message: 'is the slug of another identity provider' };
/** Who makes an identity provider decides who comes in. */
const USER_SCOPES = ['create', 'read', 'update', 'delete', 'list'].map(
  (verb) => `organisation_users.${verb}`,
);

/** The methods of IdentityProvidersService. */
export function identityProvidersService(deps: IdentityProvidersDeps) {
  const { documents, changes, now } = deps;
  const find = async (call: Call, { identityProviderId }: { readonly identityProviderId: string }) =>
    found(
      await documents.get(organisationOf(callerOf(call)), identityProviders, identityProviderId),
      'identity provider',
    );
  const shown = (document: Stored) =>
    codec.encode(IdentityProviderSchema, recordOf(deps, document)) as JsonObject;
  const targetOf = ({ id, body }: Stored) => ({ id, name: body.name });

  return withConflictRetries({
    async createIdentityProvider(
      request: CreateIdentityProviderRequest,
      call: Call,
    ): Promise<IdentityProvider> {
      const caller = callerOf(call);
      needUserScopes(caller);
      const body = newIdentityProvider(deps, caller, request);
      const scope = organisationOf(caller);
      const { total } = await documents.page(scope, identityProviders, newestFirst({ pageSize: 1 }));
      if (total >= MOST)
        throw fail('conflict', `an organisation has at most ${MOST} identity providers: delete one first`);
      const [id, createdAt] = [randomUUID(), now()];
      const slug = newSlug(request.slug, '', request.name, 40);
      const made: Stored = {
        id,
        slug,
        organisationId: caller.organisationId,
        version: 1,
        status: 'active',
        schemaVersion: identityProviders.schemaVersion,
        createdAt,
        updatedAt: createdAt,
        body,
      };
      await tellingTaken(
        () =>
          changes.commit(call, scope, [insertOperation(identityProviders, { id, slug, createdAt, body })], {
            ...targetOf(made),
            after: shown(made),
          }),
        () => TAKEN,
      );
      return recordOf(deps, made);
    },

    async listIdentityProviders(request: ListIdentityProvidersRequest, call: Call) {
      const page = await documents.page(
        organisationOf(callerOf(call)),
        identityProviders,
        newestFirst(request),
      );
      const data = page.documents.map((document) => recordOf(deps, document));
      return create(IdentityProviderListSchema, { ...listHead(page), data });
    },

    async getIdentityProvider(request: GetIdentityProviderRequest, call: Call): Promise<IdentityProvider> {
      return recordOf(deps, await find(call, request));
    },

    async updateIdentityProvider(
      request: UpdateIdentityProviderRequest,
      call: Call,
    ): Promise<IdentityProvider> {
      const caller = callerOf(call);
      needUserScopes(caller);
      const before = await find(call, request);
      const body = changedIdentityProvider(deps, caller, before.body, request);
      const after = { ...before, body, updatedAt: now() };
      const change = { body, updatedAt: after.updatedAt };
      const operation = updateOperation(identityProviders, before.id, before.version, change);
      await changes.commit(call, organisationOf(caller), [operation], {
        ...targetOf(after),
        before: shown(before),
        after: shown(after),
      });
      return recordOf(deps, after);
    },

    async deleteIdentityProvider(request: DeleteIdentityProviderRequest, call: Call) {
      const before = await find(call, request);
      const operation = archiveOperation(identityProviders, before.id, {
        version: before.version,
        updatedAt: now(),
      });
      await changes.commit(call, organisationOf(callerOf(call)), [operation], {
        ...targetOf(before),
        before: shown(before),
      });
      return create(DeleteIdentityProviderResponseSchema);
    },
  });
}

/** @throws GatewayError forbidden */
function needUserScopes({ scopes }: Principal): void {
  const missing = USER_SCOPES.filter((scope) => !scopes.has(scope));
  if (missing.length > 0)
    throw fail('forbidden', `an identity provider decides who comes in: the key lacks ${missing.join(', ')}`);
}

function recordOf(
  { publicUrl, homeOrganisationId }: IdentityProvidersDeps,
  document: Stored,
): IdentityProvider {
  const { id, slug = '', organisationId, createdAt, updatedAt, body } = document;
  const base = `${publicUrl()}/console`;
  const at = organisationId === homeOrganisationId ? '' : `organisation=${organisationId}&`;
  return create(IdentityProviderSchema, {
    object: 'identity-provider',
    id,
    slug,
    name: body.name,
    issuer: body.issuer,
    clientId: body.clientId,
    clientSecret: body.clientSecretMask ?? '',
    secretMappings: shownMappings(body.secretMappings),
    scopes: body.scopes,
    groupsClaim: body.groupsClaim,
    accounts: body.accounts,
    emailDomains: [...(body.emailDomains ?? [])],
    isEnabled: body.isEnabled,
    redirectUri: `${base}/callback`,
    backchannelLogoutUri: `${base}/backchannel-logout?${at}provider=${id}`,
    signInUrl: `${base}/sign-in/oidc?${at}provider=${slug}`,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}
