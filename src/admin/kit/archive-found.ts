// Archives a thing's dependents with it: a person's keys with the person, a workspace's contents with the workspace.

import type { TenantScope } from '../../call/scope.ts';
import type { Collection } from '../../store/collection.ts';
import {
  archiveOperation,
  type Condition,
  type DocumentStore,
  type WriteOperation,
} from '../../store/documents.ts';
import { everyDocument } from '../../store/every-document.ts';

/** What is looked for. */
export interface Wanted {
  readonly collection: Collection<object>;
  readonly filter?: readonly Condition[];
}

/** The person who archives, and where and when (Unix milliseconds). */
export interface ArchiveDeps {
  readonly documents: DocumentStore;
  readonly scope: TenantScope;
  readonly updatedAt: number;
  /** Writes the operations that do not fit into the caller's own commit. */
  readonly commit: (operations: readonly WriteOperation[]) => Promise<unknown>;
}

/** Operations of one commit, so that the caller's own and the audit log's fit too. */
const BATCH = 500;

/**
 * Operations that archive everything that is found. Beyond 500 of them, all but the last are written before: after an
 * interruption the owner of the contents is still there, and the caller may repeat the call.
 */
export async function archiveFound(
  { documents, scope, updatedAt, commit }: ArchiveDeps,
  wanted: readonly Wanted[],
): Promise<readonly WriteOperation[]> {
  let batch: WriteOperation[] = [];
  for (const { collection, filter } of wanted) {
    for await (const { id } of everyDocument(documents, scope, collection, filter && { filter })) {
      batch.push(archiveOperation(collection, id, { updatedAt }));
      if (batch.length < BATCH) continue;
      await commit(batch);
      batch = [];
    }
  }
  return batch;
}
