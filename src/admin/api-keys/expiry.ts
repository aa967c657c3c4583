// When keys end, and how many a user may hold: the settings of the workspace, bounded by the organisation's.
import type { Directory } from '../../access/directory.ts';
import type { KeyKind } from '../../call/principal.ts';
import { invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { optionalTime } from '../kit/time.ts';

const DAY_MS = 86_400_000;

/** The settings that bound a workspace's user keys. */
export interface KeyTerms {
  /** Days until a key expires by default; undefined: never. */
  readonly ttl: number | undefined;
  /** Most days until a key expires; undefined: no such limit. */
  readonly maxTtl: number | undefined;
  /** Most keys of a user; undefined: no such limit. */
  readonly count: number | undefined;
}

/** When a key ends. */
export interface KeyExpiry {
  /** Unix milliseconds. */
  readonly expiresAt: number | undefined;
  /** A maximum bounded it. */
  readonly expiryEnforced: true | undefined;
}

const NO_TERMS: KeyTerms = { ttl: undefined, maxTtl: undefined, count: undefined };

/** The terms of a kind of key in a workspace; keys of services have none. */
export function keyTerms(
  directory: Directory,
  organisationId: string,
  workspaceId: string | undefined,
  kind: KeyKind,
): KeyTerms {
  if (kind !== 'workspace-user' || workspaceId === undefined) return NO_TERMS;
  const workspace = directory.workspace(organisationId, workspaceId)?.body.settings;
  const organisation = directory.organisation(organisationId)?.body.settings;
  const maxima = [workspace, organisation]
    .map((settings) => days(settings, 'user_api_key_max_ttl'))
    .filter((max) => max !== undefined && max > 0) as number[];
  const maxTtl = maxima.length > 0 ? Math.min(...maxima) : undefined;
  const ttl = days(workspace, 'user_api_key_ttl') || maxTtl;
  const count = days(workspace, 'user_api_key_count') ?? -1;
  return {
    ttl: ttl !== undefined && maxTtl !== undefined ? Math.min(ttl, maxTtl) : ttl,
    maxTtl,
    count: count < 0 ? undefined : count,
  };
}

/** A new key's expiry. @throws GatewayError validation_failed when it has passed, or lies beyond the maximum. */
export function newExpiry(terms: KeyTerms, given: string | undefined, at: number): KeyExpiry {
  const asked = optionalTime('expires_at', given);
  if (asked !== undefined) checkExpiry(terms, asked, at);
  const expiresAt = asked ?? (terms.ttl === undefined ? undefined : at + terms.ttl * DAY_MS);
  return { expiresAt, expiryEnforced: terms.maxTtl === undefined ? undefined : true };
}

/** The expiry after an update; `never` takes it away. @throws GatewayError as `newExpiry`. */
export function changedExpiry(
  terms: KeyTerms,
  given: string | undefined,
  never: boolean,
  before: KeyExpiry,
  at: number,
): KeyExpiry {
  if (given === undefined && !never) return before;
  if (given === undefined && terms.maxTtl !== undefined)
    throw invalidField('expires_at', `must be given: keys expire within ${terms.maxTtl} days here`);
  return given === undefined
    ? { expiresAt: undefined, expiryEnforced: undefined }
    : newExpiry(terms, given, at);
}

function checkExpiry({ maxTtl }: KeyTerms, expiresAt: number, at: number): void {
  if (expiresAt <= at) throw invalidField('expires_at', 'must be in the future');
  if (maxTtl !== undefined && expiresAt > at + maxTtl * DAY_MS)
    throw invalidField('expires_at', `must be within ${maxTtl} days, the most that is allowed here`);
}

function days(settings: JsonObject | undefined, name: string): number | undefined {
  const value = settings?.[name];
  return typeof value === 'number' ? value : undefined;
}
