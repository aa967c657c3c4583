// The contents of a workspace, which are archived with it.
import { accessCollections } from '../../access/identity-collections.ts';
import type { TenantScope } from '../../call/scope.ts';
import { configCollections } from '../../configs/config-collections.ts';
import { ledgerCollections } from '../../ledger/policies.ts';
import { fail } from '../../lib/errors.ts';
import { promptRoomCollections } from '../../prompts/prompt-collections.ts';
import type { DocumentStore } from '../../store/documents.ts';
import type { Wanted } from '../kit/archive-found.ts';

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
 * What is archived with a workspace.
 * @throws GatewayError conflict when something is in the way and `force` is not given
 */
export async function contentsOf(
  documents: DocumentStore,
  scope: TenantScope,
  force: boolean,
): Promise<readonly Wanted[]> {
  for (const { collection, name } of CONTENTS.filter(({ blocks }) => blocks && !force)) {
    const page = await documents.page(scope, collection, { pageSize: 1 });
    if (page.documents.length > 0)
      throw fail('conflict', `the workspace still has ${name}: delete them, or give force_delete`);
  }
  return CONTENTS;
}
