// Verifies a chain: every hash is computed anew, in batches, while others go on writing.

import type { AbortLike } from '../../lib/abort.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import {
  type AuditEntryBody,
  type AuditHeadBody,
  auditEntries,
  auditHeads,
  entryId,
  HEAD_ID,
  hashOf,
} from './entry.ts';

export type BreakKind = 'hash' | 'gap' | 'link' | 'truncated' | 'head' | 'anchor';

/** The first fault. */
export interface ChainBreak {
  /** The entry at fault, or the first that is missing. */
  readonly sequence: number;
  readonly kind: BreakKind;
  readonly detail: string;
}

/** What was found. */
export interface ChainProof {
  /** Entries that were checked and found right. */
  readonly entries: number;
  /** The last of them; 0 and empty when there is none. */
  readonly sequence: number;
  readonly hash: string;
  readonly break: ChainBreak | undefined;
}

/** An entry that was recorded elsewhere. */
export interface Anchor {
  readonly sequence: number;
  readonly hash: string;
}

/** Entries of one turn of the event loop: about five milliseconds of hashing. */
const BATCH = 200;

/**
 * Walks an organisation's chain up to where it ended when the walk began.
 * @throws GatewayError of the store, or the signal's reason when it is aborted
 */
export async function verifyChain(
  documents: DocumentStore,
  organisationId: string,
  anchor?: Anchor,
  signal?: AbortLike,
): Promise<ChainProof> {
  const scope = { organisationId, workspaceId: undefined };
  const readHead = async (): Promise<AuditHeadBody | undefined> =>
    (await documents.get(scope, auditHeads, HEAD_ID))?.body;
  const head = await readHead();
  const walk = new Walk(anchor);
  let cursor: string | undefined;
  do {
    if (signal?.aborted) throw signal.reason;
    const page = await documents.page(scope, auditEntries, {
      pageSize: BATCH,
      sort: { field: 'sequence', order: 'asc' },
      filter: [{ field: 'sequence', op: 'gte', value: anchor?.sequence ?? 0 }],
      ...(cursor === undefined ? {} : { cursor }),
    });
    for (const document of page.documents) {
      const fault = walk.step(document) ?? headFault(walk, head);
      if (fault) return walk.proof(fault);
    }
    cursor = walk.sequence > (head?.sequence ?? 0) ? undefined : page.nextCursor;
  } while (cursor !== undefined);

  if (anchor !== undefined && walk.entries === 0) {
    return walk.proof({
      sequence: anchor.sequence,
      kind: 'anchor',
      detail: 'there is no such entry any more',
    });
  }
  if (walk.sequence < (head?.sequence ?? 0)) {
    return walk.proof({
      sequence: walk.sequence + 1,
      kind: 'truncated',
      detail: `the chain ended with entry ${head?.sequence}; those from ${walk.sequence + 1} on are missing`,
    });
  }
  // Entries beyond the head were written since, or the head was set back: then it still stands there.
  const now = walk.sequence > (head?.sequence ?? 0) ? await readHead() : head;
  if (walk.sequence > (now?.sequence ?? 0)) {
    return walk.proof({
      sequence: walk.sequence,
      kind: 'head',
      detail: `the chain's end is said to be entry ${now?.sequence ?? 0}, and there are entries after it`,
    });
  }
  return walk.proof(undefined);
}

/** The entry that the head names has the head's hash. */
function headFault(walk: Walk, head: AuditHeadBody | undefined): ChainBreak | undefined {
  if (head === undefined || walk.sequence !== head.sequence || walk.hash === head.hash) return undefined;
  return {
    sequence: walk.sequence,
    kind: 'head',
    detail: "the chain's end has another hash than its last entry",
  };
}

/** One entry after the other. */
class Walk {
  /** The last entry that was right. */
  sequence: number;
  hash = '';
  entries = 0;
  readonly #anchor: Anchor | undefined;

  constructor(anchor: Anchor | undefined) {
    this.#anchor = anchor;
    this.sequence = (anchor?.sequence ?? 1) - 1;
  }

  /** What is wrong with the next entry. */
  step(document: Document<AuditEntryBody>): ChainBreak | undefined {
    const { body } = document;
    const expected = this.sequence + 1;
    const wrong = (kind: BreakKind, detail: string, sequence = expected): ChainBreak => ({
      sequence,
      kind,
      detail,
    });
    if (Number(document.id) > expected)
      return wrong('gap', `entry ${expected} is missing; entry ${Number(document.id)} follows`);
    if (!isIntact(document)) return wrong('hash', 'the entry is not as it was written');
    if (this.#anchor?.sequence === expected) {
      if (body.hash !== this.#anchor.hash)
        return wrong('anchor', 'the entry has another hash than the given one');
    } else if (body.previousHash !== this.hash) {
      return wrong('link', 'the entry does not hold the hash of the one before it');
    } else if (body.recovered) {
      return wrong('head', "the chain's end was lost or changed before this entry was written");
    }
    this.sequence = expected;
    this.hash = body.hash;
    this.entries++;
    return undefined;
  }

  proof(fault: ChainBreak | undefined): ChainProof {
    const { entries, sequence, hash } = this;
    return entries === 0
      ? { entries, sequence: 0, hash: '', break: fault }
      : { entries, sequence, hash, break: fault };
  }
}

/** The body matches its hash, and the columns stored next to the body match it. */
function isIntact({ id, version, createdAt, workspaceId, body }: Document<AuditEntryBody>): boolean {
  return (
    body.hash === hashOf(body) &&
    id === entryId(body.sequence) &&
    version === 1 &&
    createdAt === body.at &&
    (workspaceId ?? '') === body.workspaceId
  );
}
