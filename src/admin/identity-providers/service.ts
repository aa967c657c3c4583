// Identity providers of an organisation: made, listed, changed, deleted.
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
import type { Document } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { listHead } from '../kit/lists.ts';
import { resource, shownAs } from '../kit/resource.ts';
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
  const stored = resource(deps, {
    collection: identityProviders,
    noun: 'identity provider',
    shown: shownAs(IdentityProviderSchema, (document: Stored) => recordOf(deps, document)),
  });
  const find = (call: Call, { identityProviderId }: { readonly identityProviderId: string }) =>
    stored.find(organisationOf(callerOf(call)), identityProviderId);

  return withConflictRetries({
    async createIdentityProvider(
      request: CreateIdentityProviderRequest,
      call: Call,
    ): Promise<IdentityProvider> {
      const caller = callerOf(call);
      needUserScopes(caller);
      const body = newIdentityProvider(deps, caller, request);
      const scope = organisationOf(caller);
      const { total } = await stored.page(scope, { pageSize: 1 });
      if (total >= MOST)
        throw fail('conflict', `an organisation has at most ${MOST} identity providers: delete one first`);
      const made = stored.draft(scope, body, { slug: newSlug(request.slug, '', request.name, 40) });
      await tellingTaken(
        () => stored.create(call, made),
        () => TAKEN,
      );
      return recordOf(deps, made);
    },

    async listIdentityProviders(request: ListIdentityProvidersRequest, call: Call) {
      const page = await stored.page(organisationOf(callerOf(call)), request);
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
      return recordOf(deps, await stored.update(call, before, stored.changed(before, body)));
    },

    async deleteIdentityProvider(request: DeleteIdentityProviderRequest, call: Call) {
      await stored.archive(call, await find(call, request));
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
    signOut: body.signOut ?? 'provider',
    redirectUri: `${base}/callback`,
    postLogoutRedirectUri: `${base}/signed-out`,
    backchannelLogoutUri: `${base}/backchannel-logout?${at}provider=${id}`,
    signInUrl: `${base}/sign-in/oidc?${at}provider=${slug}`,
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
  });
}
