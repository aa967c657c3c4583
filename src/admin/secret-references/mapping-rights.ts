// The right to have a secret reference's value sent to a provider, and to which hosts. The value leaves the gateway
// with every call, so that a caller who controls the address could read it.
import type { Directory } from '../../access/directory.ts';
import type {
  Credentials,
  IntegrationBody,
  StoredMapping,
} from '../../access/providers/provider-collections.ts';
import { checkRole, governs } from '../../access/roles.ts';
import type { Principal } from '../../call/principal.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { ProviderEntry } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { isAllowedHost } from '../../secrets/references.ts';
import { addressOf, type FieldOf, ownOriginOf } from '../integrations/credential-checks.ts';
import type { MappingDeps } from './mappings.ts';

/** The scope of having references' values sent to providers. */
export const USE_SECRETS = 'secret_references.use';

export interface MappingRightsDeps extends MappingDeps {
  readonly directory: Directory;
}

/** Where calls with the mapped values go. */
interface MappedReach {
  readonly mappings: readonly StoredMapping[];
  /** The provider's own scheme, host and port; undefined when options leave it open. */
  readonly ownOrigin: string | undefined;
  /** Everything that decides where calls go, as one text. */
  readonly way: string;
  /** Base URLs that callers chose in place of the provider's own, by their field. */
  readonly customHosts: readonly (readonly [field: string, url: string])[];
  /** Fields that put a third party on the way: a proxy, authorities. */
  readonly onTheWay: readonly string[];
}

/** The members of a virtual key or an integration that decide the way of its calls. */
type Reaching = Credentials & Pick<IntegrationBody, 'models' | 'network'>;

/**
 * The body with its mappings as they are stored: with the custom hosts that an owner or admin of the organisation
 * allowed. A mapping that did not change stays as it is for every caller.
 * @param before undefined: it is new
 * @param fieldOf the field of an option, for refusals
 * @throws GatewayError forbidden without the scope, and for a custom host below the organisation's admins;
 * validation_failed for a reference that is bound to other hosts
 */
export function grantedMappings<Body extends Reaching>(
  deps: MappingRightsDeps,
  caller: Principal,
  entry: ProviderEntry,
  before: Body | undefined,
  after: Body,
  fieldOf: FieldOf,
): Body {
  const reach = reachOf(entry, after, fieldOf);
  const { mappings, customHosts, onTheWay, ownOrigin } = reach;
  if (mappings.length === 0) return after;
  if (before !== undefined && sameUse(reachOf(entry, before, fieldOf), reach)) {
    const origins = new Map(before.secretMappings?.map((one) => [one.targetField, one.origins]));
    return withOrigins(after, ({ targetField }) => origins.get(targetField));
  }
  checkUse(deps.directory, caller);
  const field = customHosts[0]?.[0] ?? onTheWay[0];
  if (field !== undefined && !governs(deps.directory, caller))
    throw fail(
      'forbidden',
      `${field}: a custom way beside secret_mappings takes an owner or admin of the organisation, or its key: ` +
        'give the credential itself, or ask one of them',
      { param: field },
    );
  checkBound(
    deps,
    caller,
    mappings,
    customHosts.length > 0 ? customHosts.map(([, url]) => url) : [ownOrigin ?? ''],
  );
  const origins = [...new Set(customHosts.map(([, url]) => new URL(url).origin))];
  return withOrigins(after, () => (origins.length > 0 ? origins : undefined));
}

/** @throws GatewayError validation_failed for a reference whose hosts do not hold one of the URLs. */
function checkBound(
  { secretReferences }: MappingDeps,
  { organisationId }: Principal,
  mappings: readonly StoredMapping[],
  urls: readonly string[],
): void {
  for (const [i, { secretReferenceId }] of mappings.entries()) {
    const hosts = secretReferences.find(organisationId, undefined, secretReferenceId)?.body.hosts;
    const outside = hosts && urls.find((url) => url !== '' && !isAllowedHost(hosts, url));
    if (outside !== undefined)
      throw invalidField(
        `secret_mappings[${i}].secret_reference_id`,
        `is bound to ${hosts?.slice(0, 5).join(', ')}, and calls go to ${new URL(outside).host}: add it to the reference's allowed_hosts`,
      );
  }
}

/** @throws GatewayError forbidden when the caller may not use secret references. */
export function checkUse(directory: Directory, caller: Principal): void {
  const { kind, scopes } = caller;
  // A key of the organisation that writes references controls them anyway; so do keys older than the scope.
  const writes = ['secret_references.create', 'secret_references.update'].some((scope) => scopes.has(scope));
  if (kind === 'organisation-service' && writes) return;
  if (!scopes.has(USE_SECRETS))
    throw fail('forbidden', `secret_mappings: the key lacks the scope ${USE_SECRETS}`, {
      param: 'secret_mappings',
    });
  checkRole(directory, caller, [USE_SECRETS]);
}

function withOrigins<Body extends Reaching>(
  body: Body,
  originsOf: (mapping: StoredMapping) => readonly string[] | undefined,
): Body {
  const secretMappings = body.secretMappings?.map(({ origins: _, ...mapping }) => {
    const origins = originsOf(mapping);
    return origins === undefined ? mapping : { ...mapping, origins };
  });
  return { ...body, secretMappings };
}

function reachOf(entry: ProviderEntry, body: Reaching, fieldOf: FieldOf): MappedReach {
  const { configurations: options = {}, models = [], network, secretMappings = [] } = body;
  const { stored: specs } = optionsOf(entry);
  const ownOrigin = ownOriginOf(entry, options);
  const named = Object.entries(options)
    .filter(([name]) => specs.get(name)?.type === 'host')
    .map(([name, value]) => [fieldOf(name), String(value)] as const);
  const ofModels = models.flatMap(({ slug, customHost }) =>
    customHost === undefined ? [] : [[`models.${slug}.configurations.custom_host`, customHost] as const],
  );
  const { proxyShown: proxy, caCertificates: authorities } = network ?? {};
  return {
    mappings: secretMappings,
    ownOrigin,
    way: JSON.stringify([addressOf(entry, body), named, ofModels, proxy, authorities]),
    customHosts: [...named, ...ofModels].filter(
      ([, url]) => ownOrigin === undefined || URL.parse(url)?.origin !== ownOrigin,
    ),
    onTheWay: [
      ...(proxy === undefined ? [] : ['network.proxy_url']),
      ...(authorities === undefined ? [] : ['network.ca_certificates']),
    ],
  };
}

function sameUse(a: MappedReach, b: MappedReach): boolean {
  const text = ({ mappings }: MappedReach): string =>
    JSON.stringify(
      mappings.map(({ targetField, secretReferenceId, secretKey, valueFormat }) => [
        ...[targetField, secretReferenceId, secretKey, valueFormat],
      ]),
    );
  return a.way === b.way && text(a) === text(b);
}
