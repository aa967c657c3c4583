// API keys as they are kept in memory.

import type { Principal } from '../call/principal.ts';
import type { JsonObject } from '../store/collection.ts';
import type { Document } from '../store/documents.ts';
import type { ApiKeyBody } from './identity-collections.ts';
import { heldScopes } from './scopes.ts';

/** Limits and settings of a key's calls, as callers wrote them. */
export interface KeySettings {
  readonly defaults: JsonObject | undefined;
  readonly rateLimits: readonly JsonObject[];
  readonly usageLimits: JsonObject | undefined;
  /** When usage was last reset by hand, in Unix milliseconds. */
  readonly usageResetAt: number | undefined;
}

/** A key as it is kept. */
export interface KeyRecord {
  readonly hash: string;
  /** What may be known of the key: see keyHint. */
  readonly hint: string;
  /** The previous secret, from before the last rotation, and until when it works (Unix milliseconds). */
  readonly previous?: { readonly hash: string; readonly hint: string; readonly until: number } | undefined;
  readonly principal: Principal;
  /** Unix milliseconds; undefined: never. */
  readonly expiresAt: number | undefined;
  readonly settings?: KeySettings | undefined;
}

/** A stored key as the ring keeps it. */
export function keyRecord(document: Document<ApiKeyBody>): KeyRecord {
  const { id, organisationId, workspaceId, body } = document;
  return {
    hash: body.hash,
    hint: body.hint,
    previous: body.previous,
    expiresAt: body.expiresAt,
    settings: settingsOf(body),
    principal: {
      organisationId,
      workspaceId,
      ...(body.userId === undefined ? {} : { userId: body.userId }),
      keyId: id,
      keyName: body.name,
      kind: body.kind,
      scopes: sharedSet(heldScopes(body.kind, body.scopes)),
    },
  };
}

/** Undefined for keys without any: most of many. */
function settingsOf({
  defaults,
  rateLimits,
  usageLimits,
  usageResetAt,
}: ApiKeyBody): KeySettings | undefined {
  if (defaults === undefined && rateLimits === undefined && usageLimits === undefined) return undefined;
  return { defaults, rateLimits: rateLimits ?? [], usageLimits, usageResetAt };
}

/** Many keys hold the same scopes: one set each would take hundreds of megabytes for a hundred thousand keys. */
const sets = new Map<string, ReadonlySet<string>>();
const MAX_SETS = 1000;

function sharedSet(scopes: readonly string[]): ReadonlySet<string> {
  const name = scopes.join(' ');
  const known = sets.get(name);
  if (known) return known;
  if (sets.size >= MAX_SETS) sets.clear();
  const made = new Set(scopes);
  sets.set(name, made);
  return made;
}
