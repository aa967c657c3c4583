// Options of a call that become headers of the provider's request.
import { invalidHeader } from '../lib/errors.ts';
import type { ProviderOptions } from './dialect.ts';

const NONE: readonly string[] = Object.freeze([]);
// Visible ASCII, spaces between; no line breaks, so that a value cannot become another header.
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** The gateway's header that sets an option: `azure_api_version` is x-gateway-azure-api-version. */
export function headerOf(option: string): string {
  return `x-gateway-${option.replaceAll('_', '-')}`;
}

/**
 * Flat pairs of the options that are set, under their headers' names.
 * @throws GatewayError `invalid_header` naming the gateway's header for a value that no header can carry.
 */
export function optionHeaders(
  options: ProviderOptions,
  names: Readonly<Record<string, string>>,
): readonly string[] {
  let pairs: string[] | undefined;
  for (const option in names) {
    const value = options[option];
    if (value === undefined || value === '') continue;
    if (!VALUE.test(value)) throw invalidHeader(headerOf(option), 'must be printable ASCII');
    pairs ??= [];
    pairs.push(names[option] as string, value);
  }
  return pairs ?? NONE;
}
