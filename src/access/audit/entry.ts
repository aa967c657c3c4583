// One entry of an organisation's audit log, and how entries hang together: each holds the hash of the one
// before, and the head holds the last one's, so that nothing can be changed, put in or taken away unseen.
import { hash } from 'node:crypto';
import { type Collection, defineCollection, type Json } from '../../store/collection.ts';
import type { NewDocument } from '../../store/documents.ts';
import { canonicalJson } from './canonical-json.ts';

/** Done; not permitted; permitted, and not done. */
export type AuditOutcome = 'allowed' | 'refused' | 'failed';

/** A person, a service's key, an unknown caller, or the gateway itself. */
export type ActorType = 'user' | 'api_key' | 'anonymous' | 'system';

/** Who did it. */
export interface AuditActor {
  readonly type: ActorType;
  /** The user's id, or else the key's; empty for anonymous. */
  readonly id: string;
  readonly name: string;
  /** The key that it was done with; empty when there was none. */
  readonly keyId: string;
  /** The user's role, or the kind of the key. */
  readonly role: string;
}

/** One value that is different now. A side is absent when there was nothing or is nothing. */
export interface AuditChange {
  /** Names with dots. */
  readonly path: string;
  readonly before?: Json;
  readonly after?: Json;
}

/** What an entry tells, before it has its place in the chain. Holds no secret. */
export interface AuditRecord {
  /** Unix milliseconds. */
  readonly at: number;
  readonly actor: AuditActor;
  /** The verb of the method's audit annotation. */
  readonly action: string;
  readonly resourceType: string;
  readonly target: { readonly id: string; readonly name: string };
  /** Empty: of the organisation itself. */
  readonly workspaceId: string;
  readonly outcome: AuditOutcome;
  /** Why it was refused or failed: a name of the error table; empty when it was done. */
  readonly reason: string;
  /** The reason in words, or additional information. */
  readonly detail: string;
  /** HTTP status of the answer (that of the error table over gRPC). */
  readonly statusCode: number;
  readonly requestId: string;
  readonly operation: string;
  readonly protocol: string;
  readonly method: string;
  readonly path: string;
  readonly clientIp: string;
  /** The refused key or token, all but its first and last two characters masked. */
  readonly token?: string;
  readonly changes: readonly AuditChange[];
  /** There were more, or larger ones, than an entry holds. */
  readonly changesTruncated: boolean;
}

/** An entry as it is stored. */
export interface AuditEntryBody extends AuditRecord {
  /** From 1, without gaps. */
  readonly sequence: number;
  /** The hash of the entry before; empty for the first. */
  readonly previousHash: string;
  /** SHA-256 in hexadecimal over the canonical JSON of all other members. */
  readonly hash: string;
  /** The head did not match the entries when this one was written: it had been lost or changed. */
  readonly recovered?: true;
}

/** Where an organisation's chain ends. */
export interface AuditHeadBody {
  readonly sequence: number;
  readonly hash: string;
}

/** Nothing ever writes an entry again: a new schema version leaves old bodies as they are, or their hashes break. */
export const auditEntries: Collection<AuditEntryBody> = defineCollection<AuditEntryBody>({
  name: 'audit_entries',
  schemaVersion: 1,
  fields: [
    // The ones with few values first: where several are asked for, SQLite goes by the last one's index.
    { name: 'sequence', type: 'integer' },
    { name: 'method', type: 'text' },
    { name: 'outcome', type: 'text' },
    { name: 'actorType', type: 'text', path: 'actor.type' },
    { name: 'statusCode', type: 'integer' },
    { name: 'action', type: 'text' },
    { name: 'resourceType', type: 'text' },
    { name: 'clientIp', type: 'text' },
    { name: 'actorId', type: 'text', path: 'actor.id' },
    { name: 'path', type: 'text' },
    { name: 'targetId', type: 'text', path: 'target.id' },
    { name: 'requestId', type: 'text' },
  ],
  sortable: ['sequence'],
});

export const auditHeads: Collection<AuditHeadBody> = defineCollection<AuditHeadBody>({
  name: 'audit_heads',
  schemaVersion: 1,
});

/** The one head of an organisation. */
export const HEAD_ID = 'head';

/** An entry's hash, from everything else in it. */
export function hashOf(body: Omit<AuditEntryBody, 'hash'> & { readonly hash?: string }): string {
  const { hash: _, ...rest } = body;
  return hash('sha256', canonicalJson(rest), 'hex');
}

/** An entry's content with its place in the chain. */
export function sealed(
  record: AuditRecord,
  sequence: number,
  previousHash: string,
  recovered = false,
): AuditEntryBody {
  const body = { ...record, sequence, previousHash, ...(recovered ? { recovered: true as const } : {}) };
  return { ...body, hash: hashOf(body) };
}

/** An entry's id: ids sort as the sequence does, so that lists of one millisecond keep their order. */
export function entryId(sequence: number): string {
  return String(sequence).padStart(16, '0');
}

/** An entry as a new document. It belongs to the workspace that it is about. */
export function entryDocument(body: AuditEntryBody): NewDocument<AuditEntryBody> {
  return {
    id: entryId(body.sequence),
    createdAt: body.at,
    ...(body.workspaceId === '' ? {} : { workspaceId: body.workspaceId }),
    body,
  };
}

/** A text as the stores keep it: well-formed, without null bytes, bounded. */
export function cleanText(text: string, longest = 1024): string {
  return text.replaceAll('\0', '').slice(0, longest).toWellFormed();
}
