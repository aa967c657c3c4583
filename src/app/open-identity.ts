// Who calls: the tenancy, API keys, the directory, tokens (JWT), and the audit log that names callers.
import { createAuditLog } from '../access/audit/audit-log.ts';
import { ensureTenancy, storeGivenKeys } from '../access/bootstrap.ts';
import { Directory } from '../access/directory.ts';
import { Tokens } from '../access/jwt/tokens.ts';
import { KeyRing } from '../access/key-ring.ts';
import { ManagedRecords } from '../access/managed-records.ts';
import { GrantRing } from '../access/oauth/grant-ring.ts';
import { ScimGroups } from '../access/scim/scim-groups.ts';
import { SessionRing } from '../access/sessions/session-ring.ts';
import { IdentityProviders, SETTINGS_PROVIDER } from '../access/sign-in/identity-providers.ts';
import type { Call } from '../call/call.ts';
import { clientAddress } from '../lib/client-address.ts';
import { createDialer } from '../lib/egress/dialer.ts';
import { isEmbeddedOnLoopback } from '../settings.ts';
import type { Base } from './base.ts';
import { userOf } from './callers.ts';

export type Identity = Awaited<ReturnType<typeof openIdentity>>;

/** Stores the first organisation and the keys of the settings. The directory and the keys are read by openReplicas. */
export async function openIdentity(
  { settings, log, stores: { documents, hasher } }: Base,
  allow: Parameters<typeof createDialer>[0]['allow'],
) {
  const given = { adminKey: settings.adminApiKey, workspaceKey: settings.apiKey };
  const keyDeps = { documents, hasher, now: Date.now };
  const tenancy = await ensureTenancy(keyDeps);
  await storeGivenKeys(keyDeps, tenancy, given);
  const keys = new KeyRing(hasher);
  const directory = new Directory();
  const scimGroups = new ScimGroups();
  const managed = new ManagedRecords();
  const origin = settings.publicUrl === undefined ? undefined : new URL(settings.publicUrl).origin;
  const secure = settings.tls !== undefined || origin?.startsWith('https:') === true;
  const site = { origin, secure };
  const grants = new GrantRing({ hasher, keys, directory, documents, now: Date.now });
  const identityProviders = new IdentityProviders();
  const sessions = new SessionRing({
    hasher,
    keys,
    directory,
    documents,
    site,
    isProviderEnabled: (organisationId, id) =>
      id === SETTINGS_PROVIDER
        ? settings.oidc !== undefined
        : identityProviders.enabled(organisationId, id) !== undefined,
    now: Date.now,
  });
  const egress = {
    allow,
    localServers: isEmbeddedOnLoopback(settings),
    ...(settings.httpsProxy === undefined ? {} : { httpsProxy: settings.httpsProxy }),
    ...(settings.noProxy === undefined ? {} : { noProxy: settings.noProxy }),
    ...(settings.extraCa === undefined ? {} : { extraCa: settings.extraCa }),
  };
  const dialer = createDialer(egress);
  const tokens = new Tokens({
    dialer,
    directory,
    now: Date.now,
    onTrouble: (organisationId, error) =>
      log.warn({ err: error, organisationId }, 'the key set (JWKS) of an organisation cannot be fetched'),
  });
  const addressOf = ({ source, headers }: Call): string =>
    clientAddress(source.remote, headers.plain('x-forwarded-for'), settings.trustedProxies);
  const auditLog = createAuditLog({
    documents,
    now: Date.now,
    addressOf,
    userOf: (principal) => userOf(directory, principal),
    managedBy: (id) => managed.fileOf(id),
    homeOrganisationId: tenancy.organisationId,
    ownerOf(token) {
      const principal = keys.find(token)?.principal;
      const organisationId = principal?.organisationId ?? tokens.organisationOf(token);
      return organisationId === undefined ? undefined : { organisationId, principal };
    },
    onLost: (error, count) => log.error({ err: error, count }, 'audit log: entries could not be written'),
  });
  return {
    given,
    keyDeps,
    tenancy,
    keys,
    sessions,
    grants,
    identityProviders,
    directory,
    scimGroups,
    managed,
    egress,
    dialer,
    tokens,
    auditLog,
    addressOf,
  };
}
