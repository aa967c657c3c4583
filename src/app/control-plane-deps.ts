// What the services of the control plane are made with, of all rooms.
import { jwksUriCheck } from '../access/jwt/jwks-uri.ts';
import { makeKey } from '../access/keys.ts';
import { guardrailFault } from '../admin/guardrails/usage.ts';
import { AddressRates } from '../lib/address-rates.ts';
import type { HeaderNames } from '../lib/gateway-headers.ts';
import { providerById } from '../providers/catalog/registry.ts';
import type { contractValidator } from '../rpc/validator.ts';
import type { Base } from './base.ts';
import type { Instances } from './instances.ts';
import type { Identity } from './open-identity.ts';
import type { Ledger } from './open-ledger.ts';
import type { Mcp } from './open-mcp.ts';
import type { OpenPipeline } from './open-pipeline.ts';
import type { Replicas } from './open-replicas.ts';
import type { Readiness } from './readiness.ts';
import type { registrations } from './services.ts';
import { statusDeps } from './status-deps.ts';
import type { Watch } from './telemetry.ts';

export interface Rooms extends Base {
  readonly identity: Identity;
  readonly replicas: Replicas;
  readonly ledger: Ledger;
  readonly opened: OpenPipeline;
  readonly mcp: Pick<Mcp, 'service' | 'programs' | 'oauth'>;
  readonly watch: Watch;
  readonly validator: ReturnType<typeof contractValidator>;
  readonly allow: Parameters<typeof jwksUriCheck>[1];
  readonly ready: Pick<Readiness, 'stores'>;
  readonly instances: Pick<Instances, 'list'>;
  /** Where people reach the gateway: asked when it listens. */
  readonly publicUrl: () => string;
  readonly names: HeaderNames;
}

type IdentityDeps = Omit<
  Parameters<typeof registrations>[2],
  | 'files'
  | 'copies'
  | 'uploads'
  | 'batches'
  | 'settling'
  | 'runs'
  | 'book'
  | 'messageRules'
  | 'keptResponses'
  | 'backgroundRuns'
  | 'sessionsOf'
  | 'signOutUrl'
>;

/** What services of the control plane are made with. */
export function identityDeps({
  stores,
  log,
  identity,
  replicas,
  ledger,
  opened,
  ...rooms
}: Rooms): IdentityDeps {
  const { documents, hasher } = stores;
  const { dialer, directory, auditLog, sessions, grants, scimGroups, keys, addressOf, identityProviders } =
    identity;
  const { providers, mcp, secretReferences } = replicas;
  const { plans, secrets, pipeline } = opened;
  const { mailer, callBooks, limits, usage, reRates } = ledger;
  return {
    storedProvider: plans.resolveProvider,
    savedConfigs: replicas.configs,
    aliases: replicas.aliases,
    rules: {
      plans: pipeline.planner.deps,
      resolveProvider: plans.resolveProvider,
      guardrailFault: (tenant, id, event) => guardrailFault(documents, tenant, id, event),
    },
    documents,
    changes: auditLog.changes,
    systemChanges: auditLog.systemChanges,
    scimGroups,
    directory,
    sessions,
    grants,
    keys,
    addressOf,
    usage,
    status: statusDeps({ ledger, ...rooms }),
    groups: limits.groups,
    reRates,
    now: Date.now,
    replica: providers,
    providerById,
    checkHost: (url: string, param: string, localPort?: number) => dialer.check(url, param, localPort),
    secrets,
    secretUsers: [providers, mcp, identityProviders].map((kind) => ({
      firstUserOf: (organisationId, { id }) => kind.userOfSecret(organisationId, id),
    })),
    mcp,
    programs: rooms.mcp.programs,
    userTokens: rooms.mcp.oauth.users,
    clientTokens: rooms.mcp.oauth.clients,
    dialer,
    secretReferences,
    prices: callBooks.prices,
    hasher,
    makeKey: (key) => makeKey(hasher, key, Date.now()),
    checkUri: jwksUriCheck(dialer, rooms.allow),
    publicUrl: rooms.publicUrl,
    homeOrganisationId: identity.tenancy.organisationId,
    identityProviders,
    hasSettingsProvider: rooms.settings.oidc !== undefined,
    state: ledger.state,
    site: sessions.site,
    rates: new AddressRates(rooms.settings.failedCallsPerSecond),
    onTrouble: (error: unknown) => log.warn({ err: error }, 'a sign-in link could not be sent'),
    mail:
      mailer &&
      ((mail) => {
        mailer.send(mail).catch((error) => log.error({ err: error }, 'a mail could not be sent'));
      }),
  };
}
