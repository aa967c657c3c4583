// Reads what a verified token says, in the gateway's words (admin-api facts, part 3.7). Of names that mean the same the
// first one wins; names under other products' prefixes are those that callers of this family of gateways carry.

import type { TokenDefaults, TokenGrant, TokenRole } from '../../call/grant.ts';
import type { ClaimNames } from './collection.ts';
import { type Claims, claim } from './read-token.ts';
import { notAllowed, refused } from './refused.ts';
import { readRateLimits, readUsageLimits } from './token-limits.ts';

const ORGANISATION = ['gateway_oid', 'portkey_oid', 'organisation_id'];
const WORKSPACE = ['gateway_workspace', 'portkey_workspace', 'workspace_slug'];
const USER = ['email_id', 'sub', 'uid'];
const ROLE = ['gateway_role', 'portkey_role'];
const SCOPES = ['scope', 'scopes'];
const SCOPE_PREFIX = /^(?:gateway|portkey)\./;
/** Lowest first; some issuers write them with a prefix. */
const ROLES: readonly TokenRole[] = ['member', 'manager', 'admin'];
const LONGEST_NAME = 256;
const MOST_METADATA = 64;
const LONGEST_METADATA = 128;

/** The organisation that a token is for, as it says itself; undefined when it names none. */
export function organisationOf(claims: Claims): string | undefined {
  return nameOf(claims, ORGANISATION);
}

/** @throws GatewayError unauthenticated for claims that cannot be read, forbidden for a role that is none. */
export function readGrant(organisationId: string, claims: Claims, names: ClaimNames = {}): TokenGrant {
  const workspace = nameOf(claims, named(names.workspace, WORKSPACE));
  if (workspace === undefined) throw refused('the token names no workspace');
  return {
    organisationId,
    workspace,
    user: nameOf(claims, named(names.user, USER)),
    role: readRole(claims, names.role),
    scopes: readScopes(claims, named(names.scopes, SCOPES)),
    defaults: readDefaults(claim(claims, 'defaults')),
    usageLimits: readUsageLimits(claim(claims, 'usage_limits')),
    rateLimits: readRateLimits(claim(claims, 'rate_limits')),
  };
}

function readRole(claims: Claims, name: string | undefined): TokenRole | undefined {
  const own = firstOf(claims, named(name, ROLE));
  // Issuers use the bare word for roles of their own, too.
  if (own === undefined) return highestRole(claim(claims, 'role'));
  const role = highestRole(own);
  if (role === undefined) throw notAllowed('the role in the token is not one of a workspace');
  return role;
}

function highestRole(value: unknown): TokenRole | undefined {
  const given = (Array.isArray(value) ? value : [value]).map((item) => String(item).replace(/^ws-/, ''));
  return ROLES.findLast((role) => given.includes(role));
}

function readScopes(claims: Claims, names: readonly string[]): readonly string[] {
  const value = firstOf(claims, names);
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const words = list.flatMap((item) => (typeof item === 'string' ? item.split(/\s+/) : []));
  return [...new Set(words.map((word) => word.replace(SCOPE_PREFIX, '')))].filter((word) => word !== '');
}

function readDefaults(value: unknown): TokenDefaults {
  if (value === undefined || value === null) return { configId: undefined, metadata: {} };
  if (!isObject(value)) throw refused("the token's defaults must be an object");
  const configId = claim(value, 'config_id');
  if (configId !== undefined && configId !== null && !isName(configId))
    throw refused(`the token's defaults.config_id must be a text of 1 to ${LONGEST_NAME} characters`);
  const metadata = claim(value, 'metadata') ?? {};
  const sound =
    isObject(metadata) &&
    Object.keys(metadata).length <= MOST_METADATA &&
    Object.entries(metadata).every(
      ([name, text]) => isShort(name) && typeof text === 'string' && text.length <= LONGEST_METADATA,
    );
  if (!sound)
    throw refused(`the token's defaults.metadata must be texts of at most ${LONGEST_METADATA} characters`);
  return {
    configId: configId === null ? undefined : configId,
    metadata: metadata as Readonly<Record<string, string>>,
  };
}

/** The settings' own name takes the place of the usual ones. */
function named(own: string | undefined, usual: readonly string[]): readonly string[] {
  return own === undefined ? usual : [own];
}

function nameOf(claims: Claims, names: readonly string[]): string | undefined {
  for (const name of names) {
    const value = at(claims, name);
    if (isName(value)) return value;
  }
  return undefined;
}

function firstOf(claims: Claims, names: readonly string[]): unknown {
  for (const name of names) {
    const value = at(claims, name);
    if (value !== undefined && value !== null) return value;
  }
  return undefined;
}

/** A claim by its whole name (which may be a URL), or else by the path that its dots describe. */
function at(claims: Claims, name: string): unknown {
  const whole = claim(claims, name);
  if (whole !== undefined || !name.includes('.')) return whole;
  let value: unknown = claims;
  for (const part of name.split('.')) value = isObject(value) ? claim(value, part) : undefined;
  return value;
}

function isName(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value.length <= LONGEST_NAME;
}

function isShort(name: string): boolean {
  return name !== '' && name.length <= LONGEST_METADATA;
}

function isObject(value: unknown): value is Claims {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
