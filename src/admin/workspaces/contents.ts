// The contents of a workspace, which are archived with it.
import { accessCollections, type WorkspaceBody } from '../../access/identity-collections.ts';
import { configCollections } from '../../configs/config-collections.ts';
import { ledgerCollections } from '../../ledger/policies.ts';
import { fail } from '../../lib/errors.ts';
import { promptRoomCollections } from '../../prompts/prompt-collections.ts';
import type { Document, DocumentStore, WriteOperation } from '../../store/documents.ts';
import { archiveFound } from '../kit/archive-found.ts';

/** The collections whose documents belong to workspaces. */
const CONTENTS = [
  ...accessCollections,
  ...configCollections,
  ...promptRoomCollections,
  ...ledgerCollections,
].flatMap((collection) =>
  collection.inWorkspace === undefined ? [] : [{ collection, ...collection.inWorkspace }],
);

/**
 * The operations that archive a workspace's contents; see archiveFound for the ones written before.
 * @throws GatewayError conflict when something is in the way and `force` is not given; nothing is written then.
 */
export async function archiveContents(
  documents: DocumentStore,
  workspace: Document<WorkspaceBody>,
  force: boolean,
  updatedAt: number,
  commit: (operations: readonly WriteOperation[]) => Promise<unknown>,
): Promise<readonly WriteOperation[]> {
  const scope = { organisationId: workspace.organisationId, workspaceId: workspace.id };
  for (const { collection, name } of CONTENTS.filter(({ blocks }) => blocks && !force)) {
    const page = await documents.page(scope, collection, { pageSize: 1 });
    if (page.documents.length > 0)
      throw fail('conflict', `the workspace still has ${name}: delete them, or give force_delete`);
  }
  return archiveFound({ documents, scope, updatedAt, commit }, CONTENTS);
}
