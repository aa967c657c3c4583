// Which organisations the document store has.
import type { DocumentMaintenance } from '../store/maintenance.ts';
import { organisations } from './identity-collections.ts';

/** Ids of every organisation of the deployment. */
export async function organisationIds(maintenance: DocumentMaintenance): Promise<readonly string[]> {
  const ids: string[] = [];
  let after: string | undefined;
  do {
    const batch = await maintenance.scan(organisations, {
      limit: 1000,
      ...(after === undefined ? {} : { after }),
    });
    for (const { document } of batch.documents) if (document.status === 'active') ids.push(document.id);
    after = batch.next;
  } while (after !== undefined);
  return ids;
}
