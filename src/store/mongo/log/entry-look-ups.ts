// One entry by its id.
import type { Deadline } from '../calls.ts';
import type { Bucket } from './bucket-name.ts';
import type { CheckedScope } from './entry-filter.ts';
import { ID_INDEX, KEY_INDEX } from './entry-indexes.ts';
import type { EntryRow } from './entry-row.ts';
import { keptText } from './kept-text.ts';
import type { LogPlace } from './place.ts';

const TOGETHER = 16;

/** Its JSON text, newest bucket first; undefined when the scope has no such entry. */
export async function findEntry(
  { database, buckets }: LogPlace,
  { organisationId, workspaceId }: CheckedScope,
  id: string,
  createdAt: number | undefined,
  deadline: Deadline,
): Promise<string | undefined> {
  const at = createdAt === undefined ? {} : { createdAt };
  const span = createdAt === undefined ? [] : [createdAt, createdAt + 1];
  const all = (await buckets.list('entries', deadline, ...span)).reverse();
  const lookUp = async ({ name }: Bucket): Promise<Pick<EntryRow, 'workspaceId' | 'entry'>[]> =>
    database
      .collection<EntryRow>(name)
      .find({ organisationId, ...at, id: keptText(id) })
      .project<Pick<EntryRow, 'workspaceId' | 'entry'>>({ _id: 0, workspaceId: 1, entry: 1 })
      .hint(createdAt === undefined ? ID_INDEX : KEY_INDEX)
      .maxTimeMS(deadline.remaining())
      .toArray();
  for (let i = 0; i < all.length; i += TOGETHER) {
    const found = (await Promise.all(all.slice(i, i + TOGETHER).map(lookUp))).flat();
    const own = found.find((row) => workspaceId === null || row.workspaceId === workspaceId);
    if (own) return own.entry;
  }
  return undefined;
}
