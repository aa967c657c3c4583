// Options that become part of the provider's request.
import { urlText } from '../../lib/url-text.ts';
import type { Target } from '../dialect.ts';
import { optionsOf } from './index-of.ts';
import { specError } from './named.ts';
import type { OptionSpec } from './spec.ts';

const NONE: readonly string[] = Object.freeze([]);
// Visible ASCII, spaces between; no line breaks, so that a value cannot become another header.
const VALUE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/**
 * Flat pairs of the headers that options become.
 * @throws GatewayError `invalid_header` naming the option for a value that no header can carry.
 */
export function sentHeaders(target: Target): readonly string[] {
  return headersOf(target, true);
}

/** The same for a request that is passed through: headers of options that are given, and none by default. */
export function givenHeaders(target: Target): readonly string[] {
  return headersOf(target, false);
}

function headersOf({ provider, options }: Target, byDefault: boolean): readonly string[] {
  if (provider.options === undefined) return NONE;
  let pairs: string[] | undefined;
  for (const spec of optionsOf(provider).sentHeaders) {
    const given = options[spec.name];
    const value = byDefault ? sentValue(spec, given) : given;
    if (value === undefined || value === '') continue;
    if (!VALUE.test(value)) throw specError(spec, 'must be printable ASCII');
    pairs ??= [];
    pairs.push(spec.sends?.header ?? '', value);
  }
  return pairs ?? NONE;
}

/** The query that options become, without the question mark; undefined when there is none. */
export function sentQuery({ provider, options }: Target): string | undefined {
  if (provider.options === undefined) return undefined;
  let query: string | undefined;
  for (const spec of optionsOf(provider).sentQuery) {
    const value = sentValue(spec, options[spec.name]);
    if (value === undefined) continue;
    const pair = `${spec.sends?.query}=${urlText(value)}`;
    query = query === undefined ? pair : `${query}&${pair}`;
  }
  return query;
}

function sentValue({ sends }: OptionSpec, given: string | undefined): string | undefined {
  return given === undefined || given === '' ? sends?.default : given;
}
