// API keys in the document store.
import { randomUUID } from 'node:crypto';
import type { KeyKind } from '../call/principal.ts';
import { type Violation, validationFailed } from '../lib/errors.ts';
import { theNearest } from '../lib/nearest-names.ts';
import {
  type DocumentStore,
  insertOperation,
  type NewDocument,
  type WriteOperation,
} from '../store/documents.ts';
import { systemAction } from './audit/audited-call.ts';
import { createChain } from './audit/chain.ts';
import { type ApiKeyBody, apiKeys, type KeySecret } from './identity-collections.ts';
import { type KeyHasher, keyHint, keyMask, newApiKey } from './key-hash.ts';
import { scopesOf } from './scopes.ts';

/** The parts of a new key apart from its secret. */
export type KeyDetails = Omit<ApiKeyBody, keyof KeySecret | 'previous'>;

/** The description of a new key. */
export interface NewKey extends KeyDetails {
  readonly organisationId: string;
  /** Needed for workspace kinds, absent for the others. */
  readonly workspaceId: string | undefined;
  /** The key's own text; made when absent. */
  readonly secret?: string | undefined;
}

/** What a key is made with. */
export interface KeyDeps {
  readonly documents: DocumentStore;
  readonly hasher: KeyHasher;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** A key that is not stored yet. */
export interface MadeKey {
  /** Shown once and kept nowhere. */
  readonly secret: string;
  readonly document: NewDocument<ApiKeyBody>;
}

/**
 * A key and its secret, ready to be stored.
 * @param at Unix milliseconds
 * @throws GatewayError validation_failed for scopes that the kind may not hold.
 */
export function makeKey(hasher: KeyHasher, key: NewKey, at: number): MadeKey {
  const { organisationId: _, workspaceId, secret = newApiKey(), ...details } = key;
  checkScopes(key.kind, key.scopes);
  const body: ApiKeyBody = { ...details, scopes: [...key.scopes], ...secretParts(hasher, secret) };
  const document = { id: randomUUID(), createdAt: at, body, ...(workspaceId ? { workspaceId } : {}) };
  return { secret, document };
}

/**
 * Stores a new key together with its entry in the audit log: what the gateway itself makes at its first start, or
 * by a command of its operator. Resolves with its secret.
 * @param more what is written in the same step
 * @throws GatewayError validation_failed for scopes that the kind may not hold.
 */
export async function createKey(
  { documents, hasher, now }: KeyDeps,
  key: NewKey,
  more: (made: MadeKey) => readonly WriteOperation[] = () => [],
): Promise<string> {
  const at = now();
  const made = makeKey(hasher, key, at);
  const { secret, document } = made;
  const record = systemAction(at, 'create', 'api-key', { id: document.id, name: key.name });
  const entry = { ...record, workspaceId: key.workspaceId ?? '' };
  const operations = [insertOperation(apiKeys, document), ...more(made)];
  await createChain({ documents }).append(key.organisationId, entry, operations);
  return secret;
}

/** What is kept of a secret. */
export function secretParts(hasher: KeyHasher, secret: string): Required<KeySecret> {
  return { hash: hasher.hash(secret), hint: keyHint(secret), mask: keyMask(secret) };
}

/** The body with another secret. The one before works until `until` (Unix milliseconds); without it, no longer. */
export function withSecret(body: ApiKeyBody, next: KeySecret, until?: number): ApiKeyBody {
  const { previous: _, hash, hint, mask, ...rest } = body;
  const previous = { hash, hint, ...(mask === undefined ? {} : { mask }) };
  return { ...rest, ...next, ...(until === undefined ? {} : { previous: { ...previous, until } }) };
}

/** Comparing words takes time: only the first that are none name others. */
const NAMED = 10;

/** @throws GatewayError validation_failed naming every scope that is none, or not of the kind. */
export function checkScopes(kind: KeyKind, scopes: readonly string[]): void {
  const violations = scopes.flatMap((scope, i): Violation[] => {
    if (SCOPES[kind].has(scope)) return [];
    const message = ANY_SCOPE.has(scope)
      ? `a key of the kind ${kind} cannot hold ${scope}`
      : `is no scope${i < NAMED ? theNearest(scope, SCOPES[kind]) : ''}`;
    return [{ field: `scopes[${i}]`, rule: 'scope', message }];
  });
  if (violations.length > 0) throw validationFailed(violations);
}

const SCOPES: Readonly<Record<KeyKind, ReadonlySet<string>>> = {
  'organisation-service': new Set(scopesOf('organisation-service')),
  'workspace-service': new Set(scopesOf('workspace-service')),
  'workspace-user': new Set(scopesOf('workspace-user')),
};
const ANY_SCOPE: ReadonlySet<string> = new Set(Object.values(SCOPES).flatMap((scopes) => [...scopes]));

/** Whether a kind of key may hold a scope. */
export function kindHolds(kind: KeyKind, scope: string): boolean {
  return SCOPES[kind].has(scope);
}
