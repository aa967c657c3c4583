// The clients of identity providers, with what they need of the rooms.
import { OidcClients } from '../access/sign-in/oidc-clients.ts';
import { withSecrets } from '../secrets/mappings.ts';
import type { Rooms } from './control-plane-deps.ts';

export function openOidc({
  settings: { oidc },
  log,
  stores,
  identity,
  opened,
  publicUrl,
}: Pick<Rooms, 'settings' | 'log' | 'stores' | 'identity' | 'opened' | 'publicUrl'>): OidcClients {
  const { organisationId } = identity.tenancy;
  return new OidcClients({
    ofSettings: oidc && { ...oidc, organisationId, clientSecret: async () => oidc.clientSecret },
    providers: identity.identityProviders,
    dialer: identity.dialer,
    hasher: stores.hasher,
    publicUrl,
    fill: (fields, mappings, tenant) => withSecrets(fields, mappings, tenant, opened.secrets.resolve),
    now: Date.now,
    onTrouble: (error) => log.warn({ err: error }, 'a sign-in by the identity provider failed'),
  });
}
