// Changes by asking for them: for servers without change streams. Documents are found by `updatedAt`, which the
// writers' clocks made: each poll reaches back over the clock skew that is allowed for, and once in a while all is
// read again, for clocks that are further apart.
import { setTimeout as sleep } from 'node:timers/promises';
import type mongoose from 'mongoose';
import type { ChangeListener } from '../change-feed.ts';
import type { Collection } from '../collection.ts';
import { type DocumentRow, modelOf } from './document-schema.ts';
import { queryOf } from './page-filter.ts';

type Seen = Pick<DocumentRow, 'organisationId' | 'id' | 'version'>;

const EVERY_MS = 250;
/** The most that one instance's clock lags another's, and a write lags its `updatedAt`, in milliseconds. */
const REACH_MS = 60_000;
const RESYNC_MS = 5 * 60_000;
const ANSWER_MS = 5000;
/** What is asked for: all of it is in the index `noticed`. */
const TOLD = { _id: 0, organisationId: 1, id: 1, version: 1 };

/** Returns when it is stopped. A failed poll is repeated, and misses nothing. */
export async function pollChanges(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  tell: ChangeListener,
  signal: AbortSignal,
): Promise<void> {
  const looks = collections.map((collection) => lookAt(connection, collection, tell));
  let resyncAt = 0;
  while (!signal.aborted) {
    try {
      for (const look of looks) await look();
      if (performance.now() >= resyncAt) {
        tell({ kind: 'resynced' });
        resyncAt = performance.now() + RESYNC_MS;
      }
    } catch {
      // The store's own calls report that it cannot be reached.
    }
    await sleep(EVERY_MS / 2 + (Math.random() * EVERY_MS) / 2, undefined, { signal }).catch(() => undefined);
  }
}

/** The query of a look, and its index: shown by `explain` that it walks nothing else. */
export function lookQuery(since: number): { filter: Record<string, unknown>; hint: string } {
  return { filter: { updatedAt: { $gte: since } }, hint: 'noticed' };
}

function lookAt(
  connection: mongoose.Connection,
  collection: Collection<object>,
  tell: ChangeListener,
): () => Promise<void> {
  const model = modelOf(connection, collection);
  let seen = new Map<string, Seen>();
  let lookedAt: number | undefined;
  return async () => {
    const now = Date.now();
    const { filter, hint } = lookQuery((lookedAt ?? now) - REACH_MS);
    const rows = await model
      .find(queryOf<DocumentRow>(filter), TOLD)
      .hint(hint)
      .maxTimeMS(ANSWER_MS)
      .lean<Seen[]>();
    const found = new Map<string, Seen>();
    for (const row of rows) {
      const { organisationId, id, version } = row;
      const key = JSON.stringify([organisationId, id]);
      found.set(key, row);
      if ((seen.get(key)?.version ?? 0) >= version) continue;
      tell({ kind: 'changed', change: { organisationId, collection: collection.name, id, version } });
    }
    seen = found;
    lookedAt = now;
  };
}
