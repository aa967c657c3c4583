// What a token's claims must be, and what is taken out of them.
import type { JobOwner, Sandbox } from '../sandbox/sandbox.ts';
import type { JsonObject } from '../view/traffic.ts';
import { fitsValues, type MatchType } from './match-values.ts';

/** Values wanted of claims, by claim. */
export type ClaimValues = Readonly<
  Record<string, { readonly values: readonly string[]; readonly matchType: MatchType }>
>;

/** A claim's values as texts; a scope is a list in one text (RFC 6749, part 3.3). */
function textsOf(claims: JsonObject, name: string): string[] {
  const value = Object.hasOwn(claims, name) ? claims[name] : undefined;
  if (name === 'scope' && typeof value === 'string') return value.split(' ').filter((one) => one !== '');
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  return list
    .filter((one) => one !== undefined && one !== null)
    .map((one) => (typeof one === 'object' ? JSON.stringify(one) : String(one)));
}

/** The first claim that has not the values wanted. @throws CheckFailure of the sandbox */
export async function wrongClaim(
  claims: JsonObject,
  wanted: ClaimValues,
  sandbox: Sandbox,
  owner: JobOwner,
): Promise<string | undefined> {
  for (const [name, { values, matchType }] of Object.entries(wanted)) {
    if (!(await fitsValues(textsOf(claims, name), values, matchType, sandbox, owner))) return name;
  }
  return undefined;
}

/** The first of some names that the token's header and its claims do not give the same value. */
export function unlikeHeader(
  header: JsonObject,
  claims: JsonObject,
  names: readonly string[],
): string | undefined {
  return names.find((name) => {
    const own = Object.hasOwn(header, name) && Object.hasOwn(claims, name);
    return !own || JSON.stringify(header[name]) !== JSON.stringify(claims[name]);
  });
}

/** Claims as headers under a prefix, lists joined by commas; empty where the token lacks one or no header can hold it. */
export function claimHeaders(
  claims: JsonObject,
  names: readonly string[],
  prefix: string,
): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const name of names) {
    const text = textsOf(claims, name).join(',');
    const header = `${prefix}${name.toLowerCase().replace(/[^a-z\d]+/g, '-')}`;
    headers[header] = text.length <= 4096 && /^[\t\x20-\x7e]*$/.test(text) ? text : '';
  }
  return headers;
}
