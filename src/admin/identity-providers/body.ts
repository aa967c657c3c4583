// An identity provider as callers write it, and as it is stored.
import type {
  CreateIdentityProviderRequest,
  UpdateIdentityProviderRequest,
} from '../../../gen/gateway/admin/v2/identity_providers_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { StoredMapping } from '../../access/providers/provider-collections.ts';
import type { IdentityProviderBody } from '../../access/sign-in/identity-provider-collection.ts';
import type { Principal } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import { isIssuerUrl } from '../../lib/issuer-url.ts';
import { isAllowedHost } from '../../secrets/references.ts';
import { authorOf } from '../kit/caller.ts';
import { maskOf } from '../kit/credential-reach.ts';
import { defined, patch } from '../kit/patch.ts';
import { checkUse } from '../secret-references/mapping-rights.ts';
import { type MappingDeps, mappingsOf } from '../secret-references/mappings.ts';

export interface BodyDeps extends MappingDeps {
  readonly directory: Directory;
}

type Given = CreateIdentityProviderRequest | UpdateIdentityProviderRequest;
type Secret = Pick<IdentityProviderBody, 'clientSecret' | 'clientSecretMask' | 'secretMappings'>;

const TARGET = 'client_secret';

/** @throws GatewayError validation_failed, forbidden */
export function newIdentityProvider(
  deps: BodyDeps,
  caller: Principal,
  request: CreateIdentityProviderRequest,
): IdentityProviderBody {
  const secret = secretOf(deps, caller, request);
  if (secret === undefined)
    throw invalidField(
      'client_secret',
      'is needed, or secret_mappings with the target client_secret',
      'required',
    );
  return checked(deps, caller, undefined, {
    name: request.name,
    issuer: request.issuer,
    clientId: request.clientId,
    ...secret,
    scopes: request.scopes ?? 'openid profile email',
    groupsClaim: request.groupsClaim ?? 'groups',
    accounts: (request.accounts ?? 'invited') as IdentityProviderBody['accounts'],
    ...domainsOf(request.emailDomains),
    isEnabled: request.isEnabled ?? true,
    ...signOutOf(request),
    createdBy: authorOf(caller),
  });
}

/** @throws GatewayError validation_failed, forbidden */
export function changedIdentityProvider(
  deps: BodyDeps,
  caller: Principal,
  before: IdentityProviderBody,
  request: UpdateIdentityProviderRequest,
): IdentityProviderBody {
  const fields = patch(request.clear, ['email_domains']);
  const secret = secretOf(deps, caller, request);
  const issuer = request.issuer ?? before.issuer;
  if (issuer !== before.issuer && secret === undefined)
    throw invalidField('client_secret', 'must be given again: the issuer is another one');
  const { clientSecret, clientSecretMask, secretMappings, emailDomains, ...rest } = before;
  const kept = defined<Secret>({ clientSecret, clientSecretMask, secretMappings });
  return checked(deps, caller, before, {
    ...rest,
    name: request.name ?? before.name,
    issuer,
    clientId: request.clientId ?? before.clientId,
    ...(secret ?? kept),
    scopes: request.scopes ?? before.scopes,
    groupsClaim: request.groupsClaim ?? before.groupsClaim,
    accounts: (request.accounts ?? before.accounts) as IdentityProviderBody['accounts'],
    ...domainsOf(fields.list('email_domains', request.emailDomains, emailDomains) ?? []),
    isEnabled: request.isEnabled ?? before.isEnabled,
    ...signOutOf(request),
  });
}

/** Undefined: none is given. A masked one that is sent back is none. */
function secretOf(
  deps: BodyDeps,
  caller: Principal,
  { clientSecret, secretMappings }: Given,
): Secret | undefined {
  if (clientSecret !== undefined && secretMappings.length > 0)
    throw invalidField('client_secret', 'and secret_mappings both give the secret: give one of them');
  if (clientSecret?.includes('******')) return undefined;
  if (clientSecret !== undefined) return { clientSecret, clientSecretMask: maskOf(clientSecret) };
  if (secretMappings.length === 0) return undefined;
  const place = { organisationId: caller.organisationId, workspaceId: undefined };
  const targetOf = (text: string) => (text === TARGET ? TARGET : undefined);
  return { secretMappings: mappingsOf(deps, secretMappings, place, targetOf, `must be ${TARGET}`) };
}

/** @throws GatewayError validation_failed for an issuer that is none, and a reference that is bound to other hosts; forbidden */
function checked(
  { directory, secretReferences }: BodyDeps,
  caller: Principal,
  before: IdentityProviderBody | undefined,
  body: IdentityProviderBody,
): IdentityProviderBody {
  const { issuer, secretMappings = [] } = body;
  if (!isIssuerUrl(issuer))
    throw invalidField(
      'issuer',
      'must be the https:// address of an issuer, as its discovery document names it',
    );
  if (issuer === before?.issuer && secretMappings === before.secretMappings) return body;
  for (const [i, mapping] of secretMappings.entries()) {
    checkUse(directory, caller);
    const hosts = hostsOf(secretReferences, caller, mapping);
    if (hosts !== undefined && !isAllowedHost(hosts, issuer))
      throw invalidField(
        `secret_mappings[${i}].secret_reference_id`,
        `is bound to ${hosts.slice(0, 5).join(', ')}, and the issuer is ${new URL(issuer).host}: add it to the reference's allowed_hosts`,
      );
  }
  return body;
}

function hostsOf(
  secretReferences: BodyDeps['secretReferences'],
  { organisationId }: Principal,
  { secretReferenceId }: StoredMapping,
): readonly string[] | undefined {
  return secretReferences.find(organisationId, undefined, secretReferenceId)?.body.hosts;
}

function signOutOf({ signOut }: Given): Pick<IdentityProviderBody, 'signOut'> {
  return signOut === undefined ? {} : { signOut: signOut as 'provider' | 'gateway' };
}

function domainsOf(given: readonly string[]): Pick<IdentityProviderBody, 'emailDomains'> {
  return given.length === 0 ? {} : { emailDomains: given.map((domain) => domain.toLowerCase()) };
}
