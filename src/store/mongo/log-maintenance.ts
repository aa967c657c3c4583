// The books as a whole, over MongoDB.
import type { LogMaintenance } from '../maintenance.ts';
import { checkScan } from '../maintenance-checks.ts';
import type { RequestRecord } from '../request-log.ts';
import type { Deadline } from './calls.ts';
import { importRowsOf, prepareEntries, rowsByBucket } from './log/entry-appends.ts';
import type { EntryRow } from './log/entry-row.ts';
import type { LogPlace } from './log/place.ts';
import { behind, cursorOptions, type Placed, readRows } from './scan.ts';

/** A bucket's name and the `_id` in it. */
const POSITION = /^log\.[a-z.0-9]{1,40}:[0-9a-f]{24}$/;

export function mongoLogMaintenance(place: LogPlace): LogMaintenance {
  const { calls } = place;
  return {
    scan: async (request) => {
      const checked = checkScan(request, POSITION);
      return calls.run((deadline) => scanEntries(place, checked, deadline));
    },

    importEntries: async (entries) => {
      if (entries.length === 0) return;
      const rows = await rowsByBucket(entries);
      await calls.run(async (deadline) => {
        await prepareEntries(place, rows, deadline);
        await importRowsOf(place.database, rows, deadline);
      });
    },
  };
}

/** Bucket after bucket, oldest first. */
async function scanEntries(
  { database, buckets }: LogPlace,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  deadline: Deadline,
): Promise<{ readonly entries: readonly RequestRecord[]; readonly next?: string }> {
  const [begin = '', position] = after?.split(':') ?? [];
  const all = (await buckets.list('entries', deadline)).map(({ name }) => name).sort();
  for (const name of all.filter((one) => one >= begin)) {
    const request = { limit, ...(name === begin && position ? { after: position } : {}) };
    const cursor = database
      .collection<EntryRow & Placed>(name)
      .find(behind(request), { ...cursorOptions(request, deadline), projection: { entry: 1 } });
    const { rows, next } = await readRows(cursor, ({ entry }) => entry.length);
    if (next.next === undefined) continue;
    return {
      entries: rows.map(({ entry }) => JSON.parse(entry) as RequestRecord),
      next: `${name}:${next.next}`,
    };
  }
  return { entries: [] };
}
