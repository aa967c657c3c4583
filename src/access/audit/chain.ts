// The chains: one per organisation, each entry one unit of work with the change that it tells of. Appends of
// one organisation that wait together are committed together; another instance's append moves the head, and
// the loser of that race reads it again.
import { setTimeout as sleep } from 'node:timers/promises';
import { fail, GatewayError, toGatewayError } from '../../lib/errors.ts';
import { nextSlice } from '../../lib/time-slices.ts';
import {
  type Document,
  type DocumentStore,
  FailedOperation,
  failedOperation,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import {
  type AuditEntryBody,
  type AuditRecord,
  auditEntries,
  auditHeads,
  cleanText,
  entryDocument,
  HEAD_ID,
  sealed,
} from './entry.ts';

/** Appends to the chains. */
export interface Chain {
  /**
   * Commits the operations with an entry, or nothing. Resolves with the operations' documents as written.
   * @throws GatewayError what the store throws, `failedOperation` counting the given operations;
   * `store_unavailable` when too many appends wait, or for too long (then nothing was written).
   */
  append(
    organisationId: string,
    record: AuditRecord,
    operations?: readonly WriteOperation[],
  ): Promise<readonly Document<object>[]>;
  /**
   * Commits all parts in one unit of work, each with its entry, or nothing.
   * @throws GatewayError as `append`; `failedOperation` counts the operations of all parts
   */
  appendAll(organisationId: string, parts: readonly ChainPart[]): Promise<readonly Document<object>[]>;
  /** Resolves when nothing waits. */
  idle(): Promise<void>;
}

/** Operations and the entry that tells of them. */
export interface ChainPart {
  readonly record: AuditRecord;
  readonly operations: readonly WriteOperation[];
}

/** Where the next entry goes. */
interface Position {
  readonly sequence: number;
  readonly hash: string;
  /** The head's document version; 0: there is none. */
  readonly version: number;
  /** The stored head was older than the entries. */
  readonly recovered: boolean;
}

interface Waiting {
  readonly parts: readonly ChainPart[];
  readonly since: number;
  readonly resolve: (documents: readonly Document<object>[]) => void;
  readonly reject: (error: GatewayError) => void;
}

/** Appends of one organisation that wait; further ones are refused. */
const MAX_WAITING = 2000;
/** Appends of one commit, and their operations: a commit of a few hundred writes is a matter of milliseconds. */
const GROUP = 64;
const GROUP_OPERATIONS = 256;
/** Operations of one append, its entry not counted. */
export const MAX_OPERATIONS = 900;
/** Operations and entries of parts that are committed together: the store's bound less the head. */
export const MOST_TOGETHER = 3900;
const MAX_WAIT_MS = 10_000;
const FIRST_PAUSE_MS = 4;
const LONGEST_PAUSE_MS = 150;
/** Positions kept in memory; a forgotten one is read again. */
const MAX_POSITIONS = 10_000;

/** What a chain is made with. */
export interface ChainDeps {
  readonly documents: DocumentStore;
  /** How long an append waits for its turn, in milliseconds; 10,000 by default. */
  readonly maxWaitMs?: number;
}

export function createChain({ documents, maxWaitMs = MAX_WAIT_MS }: ChainDeps): Chain {
  const queues = new Map<string, Waiting[]>();
  const running = new Map<string, Promise<void>>();
  const positions = new Map<string, Position>();

  async function drain(organisationId: string, queue: Waiting[]): Promise<void> {
    // What is asked for in the same turn goes together.
    await undefined;
    while (queue.length > 0) {
      const group = takeGroup(queue, maxWaitMs);
      if (group.length > 0) await write(organisationId, group);
    }
    queues.delete(organisationId);
    running.delete(organisationId);
  }

  /** Settles every member of the group. */
  async function write(organisationId: string, group: Waiting[]): Promise<void> {
    const giveUpAt = performance.now() + maxWaitMs;
    let distrust = false;
    for (let attempt = 0; group.length > 0; ) {
      try {
        const position = await positionOf(organisationId, distrust);
        await commitGroup(organisationId, position, group);
        return;
      } catch (thrown) {
        const error = toGatewayError(thrown);
        positions.delete(organisationId);
        const place = failedOperation(error);
        const at = place === undefined ? undefined : ownerOf(group, place);
        if (at?.index !== undefined && at.operation !== undefined) {
          // One caller's own operation: the others go on without it.
          group[at.index]?.reject(ownError(error, at.operation));
          group.splice(at.index, 1);
          continue;
        }
        if (at === undefined && error.reason !== 'store_unavailable' && group.length > 1) {
          // One of them cannot be stored: each is written alone, so that an error reaches only its own caller.
          for (const one of group) await write(organisationId, [one]);
          return;
        }
        const lost = at !== undefined && performance.now() < giveUpAt;
        if (!lost) {
          for (const one of group) one.reject(at === undefined ? error : busy());
          return;
        }
        // An entry's place is taken though the head says that it is free: the entries count.
        distrust = at.index !== undefined;
        const pause = Math.random() * Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** attempt++);
        await sleep(pause);
      }
    }
  }

  async function commitGroup(organisationId: string, position: Position, group: Waiting[]): Promise<void> {
    const scope = { organisationId, workspaceId: undefined };
    const entries: AuditEntryBody[] = [];
    let { sequence, hash } = position;
    for (const { record } of group.flatMap(({ parts }) => parts)) {
      await nextSlice();
      const entry = sealed(record, ++sequence, hash, position.recovered && entries.length === 0);
      entries.push(entry);
      hash = entry.hash;
    }
    const at = entries.at(-1)?.at ?? 0;
    const head: WriteOperation =
      position.version === 0
        ? insertOperation(auditHeads, { id: HEAD_ID, createdAt: at, body: { sequence, hash } })
        : updateOperation(auditHeads, HEAD_ID, position.version, { body: { sequence, hash }, updatedAt: at });
    // The head first: a race is lost before anything else is written.
    const operations = [head];
    for (const [index, { operations: own }] of group.flatMap(({ parts }) => parts).entries()) {
      operations.push(...own, insertOperation(auditEntries, entryDocument(entries[index] as AuditEntryBody)));
    }
    const written = await documents.commit(scope, operations);
    if (positions.size >= MAX_POSITIONS) positions.clear();
    positions.set(organisationId, { sequence, hash, version: position.version + 1, recovered: false });
    let next = 1;
    for (const { parts, resolve } of group) {
      const own: Document<object>[] = [];
      for (const { operations: asked } of parts) {
        own.push(...written.slice(next, next + asked.length));
        next += asked.length + 1;
      }
      resolve(own);
    }
  }

  async function positionOf(organisationId: string, distrust: boolean): Promise<Position> {
    const known = positions.get(organisationId);
    if (known) return known;
    const scope = { organisationId, workspaceId: undefined };
    const head = await documents.get(scope, auditHeads, HEAD_ID);
    const { sequence, hash } = head?.body ?? { sequence: 0, hash: '' };
    const position: Position = { sequence, hash, version: head?.version ?? 0, recovered: false };
    if (head !== undefined && !distrust) return position;
    const page = await documents.page(scope, auditEntries, {
      pageSize: 1,
      status: 'all',
      sort: { field: 'sequence', order: 'desc' },
    });
    const last = page.documents[0]?.body;
    if (last === undefined || last.sequence <= sequence) return position;
    return { ...position, sequence: last.sequence, hash: last.hash, recovered: true };
  }

  const appendAll = async (
    organisationId: string,
    parts: readonly ChainPart[],
  ): Promise<readonly Document<object>[]> => {
    const [size, most] =
      parts.length === 1 ? [sizeOf(parts) - 1, MAX_OPERATIONS] : [sizeOf(parts), MOST_TOGETHER];
    if (size > most) throw fail('validation_failed', `a change has ${most} operations at the most`);
    const queue = queues.get(organisationId) ?? [];
    if (queue.length >= MAX_WAITING) throw busy();
    const cleanedParts = parts.map(({ record, operations }) => ({ record: cleaned(record), operations }));
    return new Promise((resolve, reject) => {
      queue.push({ parts: cleanedParts, since: performance.now(), resolve, reject });
      if (queues.has(organisationId)) return;
      queues.set(organisationId, queue);
      running.set(organisationId, drain(organisationId, queue));
    });
  };

  return {
    append: (organisationId, record, operations = []) => appendAll(organisationId, [{ record, operations }]),
    appendAll,
    async idle() {
      while (running.size > 0) await Promise.all(running.values());
    },
  };
}

/** The next appends that fit into one commit; those that waited too long are refused. */
function takeGroup(queue: Waiting[], maxWaitMs: number): Waiting[] {
  const group: Waiting[] = [];
  const latest = performance.now() - maxWaitMs;
  let operations = 0;
  while (queue.length > 0 && group.length < GROUP) {
    const [next] = queue as [Waiting];
    const size = sizeOf(next.parts) - next.parts.length;
    if (group.length > 0 && operations + size > GROUP_OPERATIONS) break;
    queue.shift();
    if (next.since < latest) {
      next.reject(busy());
      continue;
    }
    operations += size;
    group.push(next);
  }
  return group;
}

/** Whose operation of the commit it is; no `index` for the head, no `operation` for an entry. */
function ownerOf(
  group: readonly Waiting[],
  place: number,
): { readonly index?: number; readonly operation?: number } {
  let first = 1;
  for (const [index, { parts }] of group.entries()) {
    let before = 0;
    for (const { operations } of parts) {
      if (place >= first && place < first + operations.length)
        return { index, operation: before + place - first };
      if (place === first + operations.length) return { index };
      first += operations.length + 1;
      before += operations.length;
    }
  }
  return {};
}

/** Writes of these parts, entries included. */
function sizeOf(parts: readonly ChainPart[]): number {
  return parts.reduce((sum, { operations }) => sum + operations.length + 1, 0);
}

function ownError(error: GatewayError, operation: number): GatewayError {
  return new GatewayError(error.reason, error.message, {
    ...error.details,
    cause: new FailedOperation(operation),
  });
}

function busy(): GatewayError {
  return fail('store_unavailable', 'the audit log has too much to do; nothing was changed', {
    retryAfterMs: 1000,
  });
}

/** What callers send may be in an entry: no text of it stops the commit. */
function cleaned(record: AuditRecord): AuditRecord {
  const { actor, target } = record;
  return {
    ...record,
    actor: { ...actor, id: cleanText(actor.id, 256), name: cleanText(actor.name) },
    target: { id: cleanText(target.id, 256), name: cleanText(target.name) },
    workspaceId: cleanText(record.workspaceId, 256),
    detail: cleanText(record.detail),
    path: cleanText(record.path),
    clientIp: cleanText(record.clientIp, 64),
    requestId: cleanText(record.requestId, 256),
  };
}
