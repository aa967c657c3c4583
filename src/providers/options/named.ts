// Refusals of options. Each names every way that the option may come: the caller may have used another one.
import { type GatewayError, invalidHeader } from '../../lib/errors.ts';
import type { ProviderEntry } from '../dialect.ts';
import { comesFrom, headersOf } from './index-of.ts';
import { type OptionSpec, text } from './spec.ts';

/** The gateway's header that sets an option: `azure_api_version` is x-gateway-azure-api-version. */
export function optionHeader(spec: OptionSpec): string {
  return `x-gateway-${headersOf(spec)[0]}`;
}

/**
 * The ways of an option, in words: "header x-gateway-azure-resource-name, config member azure_resource_name, stored
 * field configurations.azure_resource_name (of a virtual key: resource_name)".
 */
export function waysOf(spec: OptionSpec): string {
  const { name, virtualKey } = spec;
  const ofKey = virtualKey?.member === undefined ? '' : ` (of a virtual key: ${virtualKey.member})`;
  return [
    comesFrom(spec, 'header') ? `header ${optionHeader(spec)}` : '',
    comesFrom(spec, 'config') ? `config member ${name}` : '',
    comesFrom(spec, 'stored') ? `stored field configurations.${name}${ofKey}` : '',
  ]
    .filter((way) => way !== '')
    .join(', ');
}

/**
 * The error of an option that is missing or malformed.
 * @param name of one of the provider's options
 * @param why never the option's value, which may be a secret
 */
export function optionError(entry: ProviderEntry, name: string, why: string): GatewayError {
  return specError(entry.options?.find((spec) => spec.name === name) ?? text(name), why);
}

/** The same for an option whose spec is known. */
export function specError(spec: OptionSpec, why: string): GatewayError {
  const field = comesFrom(spec, 'header') ? optionHeader(spec) : `configurations.${spec.name}`;
  return invalidHeader(field, `${why} (${waysOf(spec)})`);
}

/** The error of an option that a call lacks. */
export function missingOption({ id }: ProviderEntry, spec: OptionSpec): GatewayError {
  return specError(spec, `is required for ${id}`);
}

/** The error of an option whose value the provider cannot have. */
export function invalidOption(spec: OptionSpec): GatewayError {
  return specError(spec, spec.pattern?.[1] ?? 'cannot be part of an address');
}

/** The ways of a custom host, and of a provider's key. */
export const CUSTOM_HOST_WAYS =
  'header x-gateway-custom-host, config member custom_host, stored field configurations.custom_host';
export const KEY_WAYS = 'header authorization: Bearer <key>, config member api_key, stored field key';

/** The error of a custom host. */
export function customHostError(why: string): GatewayError {
  return invalidHeader('x-gateway-custom-host', `${why} (${CUSTOM_HOST_WAYS})`);
}

/** The error of a provider's key. */
export function keyError(why: string): GatewayError {
  return invalidHeader('authorization', `${why} (${KEY_WAYS})`);
}
