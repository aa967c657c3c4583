// A stored provider some of whose values an external secret manager keeps: they are put in their places for the
// call, and no longer, and go to no host but those that their references are bound to.
import type { UsableProvider } from '../access/providers/usable-provider.ts';
import { fail, type GatewayError, toGatewayError } from '../lib/errors.ts';
import { type MappingTenant, withSecrets } from '../secrets/mappings.ts';
import { isAllowedHost } from '../secrets/references.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { JsonObject } from '../store/collection.ts';
import type { StoredProvider } from './plan/plan-deps.ts';

type Asked = Pick<Secrets, 'resolve' | 'hostsOf'>;
type Mapped = UsableProvider & Pick<StoredProvider, 'hostFault'>;

/** At once where nothing is mapped. One whose secrets cannot be had may not be called, and says so. */
export function mappedProvider(
  provider: UsableProvider | undefined,
  tenant: MappingTenant,
  secrets: Asked,
): Mapped | undefined | Promise<Mapped> {
  if (provider === undefined || provider.mappings.length === 0 || provider.refused()) return provider;
  return filled(provider, tenant, secrets);
}

async function filled(provider: UsableProvider, tenant: MappingTenant, secrets: Asked): Promise<Mapped> {
  const { apiKey, options, mappings } = provider;
  try {
    const fields: JsonObject = { ...(apiKey === undefined ? {} : { key: apiKey }), options };
    const whole = await withSecrets(fields, mappings, tenant, secrets.resolve);
    return {
      ...provider,
      apiKey: text(whole.key),
      options: texts(whole.options as JsonObject),
      hostFault: (origin, own) => hostFault(provider, tenant, secrets, origin, own),
    };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    return { ...provider, refused: () => error };
  }
}

/** A reference that names hosts decides; else the provider's own hosts count, and those that an admin added to a mapping. */
function hostFault(
  { mappings, slug }: UsableProvider,
  { organisationId, workspaceId }: MappingTenant,
  secrets: Asked,
  origin: string,
  own: string | undefined,
): GatewayError | undefined {
  for (const { secretReferenceId, origins = [] } of mappings) {
    const hosts = secrets.hostsOf(organisationId, workspaceId, secretReferenceId);
    const open =
      hosts === undefined ? origin === own || origins.includes(origin) : isAllowedHost(hosts, origin);
    if (open) continue;
    return fail(
      'forbidden',
      `the stored provider ${slug} calls ${new URL(origin).host}, and its secret reference is not bound to this host: ` +
        'add it to allowed_hosts of the reference, or have an admin of the organisation save the address again',
      { param: 'secret_mappings' },
    );
  }
  return undefined;
}

function texts(options: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, text(value) ?? '']));
}

function text(value: JsonObject[string] | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}
