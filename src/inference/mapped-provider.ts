// A stored provider some of whose values an external secret manager keeps: they are put in their places for the
// call, and no longer.
import type { UsableProvider } from '../access/providers/usable-provider.ts';
import { toGatewayError } from '../lib/errors.ts';
import { type MappingTenant, withSecrets } from '../secrets/mappings.ts';
import type { Secrets } from '../secrets/secrets.ts';
import type { JsonObject } from '../store/collection.ts';

/** At once where nothing is mapped. One whose secrets cannot be had may not be called, and says so. */
export function mappedProvider(
  provider: UsableProvider | undefined,
  tenant: MappingTenant,
  resolve: Secrets['resolve'],
): UsableProvider | undefined | Promise<UsableProvider> {
  if (provider === undefined || provider.mappings.length === 0 || provider.refused()) return provider;
  return filled(provider, tenant, resolve);
}

async function filled(
  provider: UsableProvider,
  tenant: MappingTenant,
  resolve: Secrets['resolve'],
): Promise<UsableProvider> {
  const { apiKey, options, mappings } = provider;
  try {
    const fields: JsonObject = { ...(apiKey === undefined ? {} : { key: apiKey }), options };
    const whole = await withSecrets(fields, mappings, tenant, resolve);
    return { ...provider, apiKey: text(whole.key), options: texts(whole.options as JsonObject) };
  } catch (thrown) {
    const error = toGatewayError(thrown);
    return { ...provider, refused: () => error };
  }
}

function texts(options: JsonObject): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(options).map(([name, value]) => [name, text(value) ?? '']));
}

function text(value: JsonObject[string] | undefined): string | undefined {
  return value === undefined || typeof value === 'string' ? value : JSON.stringify(value);
}
