// The reader of options in request headers.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { ProviderEntry, ProviderOptions } from '../../providers/dialect.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { isHarmless } from './config-options.ts';

const NONE: ProviderOptions = Object.freeze({});

/**
 * The provider's options that headers set: `azure_api_version` is x-gateway-azure-api-version, or the same without
 * the prefix.
 * @param onlyHarmless leaves out those that could lead a credential elsewhere
 */
export function headerOptions(
  entry: ProviderEntry,
  headers: GatewayHeaders,
  onlyHarmless: boolean,
): ProviderOptions {
  if (entry.options === undefined) return NONE;
  const { fromHeaders, headerNames } = optionsOf(entry);
  if (!headers.hasAny(headerNames)) return NONE;
  let options: Record<string, string> | undefined;
  for (const { spec, headers: names } of fromHeaders) {
    if (onlyHarmless && !isHarmless(spec)) continue;
    const value = first(headers, names);
    if (value === undefined) continue;
    options ??= {};
    options[spec.name] = value;
  }
  return options ?? NONE;
}

function first(headers: GatewayHeaders, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = headers.get(name) ?? headers.plain(name);
    if (value !== undefined) return value;
  }
  return undefined;
}
