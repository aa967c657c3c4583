// The books as a whole, over MongoDB: buckets one after the other, each by `_id`.
import { invalidField } from '../../lib/errors.ts';
import { decodeEntry } from '../log/entry-text.ts';
import type { BodiesRecord, FeedbackRecord } from '../log-store.ts';
import type { LogMaintenance, LogPartMaintenance } from '../maintenance.ts';
import { checkScan } from '../maintenance-checks.ts';
import type { Deadline } from './calls.ts';
import { type BodiesRow, bodiesByBucket, bodiesOf } from './log/bodies.ts';
import { type BucketKind, beginOf, bucketOf, endOf } from './log/bucket-name.ts';
import { importRowsOf, prepareEntries, rowsByBucket } from './log/entry-appends.ts';
import type { EntryRow } from './log/entry-row.ts';
import { FEEDBACK, type FeedbackRow, feedbackOfRow, feedbackRow } from './log/feedback.ts';
import type { LogPlace } from './log/place.ts';
import { HOUR_MS, markStale } from './log/stale-hours.ts';
import { behind, cursorOptions, type Placed, POSITION, readRows } from './scan.ts';

/** A bucket's name and the `_id` in it. */
const IN_BUCKET = /^log\.[a-z.0-9]{1,40}:[0-9a-f]{24}$/;

export function mongoLogMaintenance(place: LogPlace): LogMaintenance {
  const { calls } = place;
  return {
    scan: async (request) => {
      const checked = checkScan(request, IN_BUCKET);
      const { rows, next } = await calls.run((deadline) =>
        scanBuckets<EntryRow>(place, 'entries', checked, ({ entry }) => entry.length, deadline),
      );
      return { entries: rows.map(({ entry }) => decodeEntry(entry)), ...next };
    },

    importEntries: async (entries) => {
      if (entries.length === 0) return;
      const rows = await rowsByBucket(entries);
      await calls.run(async (deadline) => {
        await prepareEntries(place, rows, deadline);
        await importRowsOf(place.database, rows, deadline);
      });
    },

    remakeRollups: (organisationId, at) =>
      calls.run(async (deadline) => {
        const day = bucketOf('entries', at, undefined);
        const [begin, end] = [beginOf(day), endOf(day)];
        const hours = Array.from({ length: (end - begin) / HOUR_MS }, (_, hour) => begin + hour * HOUR_MS);
        const changed = (await place.buckets.list('entries', deadline, begin, end)).flatMap(({ name }) =>
          hours.map((createdAt) => ({ bucket: name, organisationId, createdAt })),
        );
        await markStale(place, changed, deadline);
      }),

    bodies: bodiesMaintenance(place),
    feedback: feedbackMaintenance(place),
  };
}

function bodiesMaintenance(place: LogPlace): LogPartMaintenance<BodiesRecord> {
  const { calls, buckets } = place;
  return {
    scan: async (request) => {
      const checked = checkScan(request, IN_BUCKET);
      const { rows, next } = await calls.run((deadline) =>
        scanBuckets<BodiesRow>(place, 'bodies', checked, ({ data }) => data.length() * EXPANDED, deadline),
      );
      const records: BodiesRecord[] = [];
      for (const row of rows) records.push(await bodiesOf(row));
      return { records, ...next };
    },
    import: async (records) => {
      if (records.length === 0) return;
      const rows = await bodiesByBucket(records);
      await calls.run(async (deadline) => {
        for (const { name } of rows) await buckets.ensure('bodies', name, deadline);
        await importRowsOf(place.database, rows, deadline);
      });
    },
  };
}

/** Text to its compressed bytes, about. */
const EXPANDED = 4;

function feedbackMaintenance(place: LogPlace): LogPartMaintenance<FeedbackRecord> {
  const { calls, database } = place;
  return {
    scan: async (request) => {
      const checked = checkScan(request, POSITION);
      return calls.run(async (deadline) => {
        const cursor = database
          .collection<FeedbackRow & Placed>(FEEDBACK)
          .find(behind(checked), { ...cursorOptions(checked, deadline), projection: { of: 0 } });
        const { rows, next } = await readRows(cursor, ({ entry = '' }) => entry.length);
        return { records: rows.map(({ _id, ...row }) => feedbackOfRow(row)), ...next };
      });
    },
    import: async (records) => {
      if (records.length === 0) return;
      const rows = records.map(feedbackRow);
      await calls.run((deadline) => importRowsOf(database, [{ name: FEEDBACK, rows }], deadline));
    },
  };
}

/** Bucket after bucket, oldest first; a batch ends with its bucket. */
async function scanBuckets<Row>(
  { database, buckets }: LogPlace,
  kind: BucketKind,
  { after, limit }: { readonly after?: string | undefined; readonly limit: number },
  lengthOf: (row: Row) => number,
  deadline: Deadline,
): Promise<{ readonly rows: readonly Row[]; readonly next: { readonly next?: string } }> {
  const [begin = '', position] = after?.split(':') ?? [];
  if (after !== undefined && !begin.startsWith(`log.${kind}.`))
    throw invalidField('after', 'is none of ours', 'cursor');
  const all = (await buckets.list(kind, deadline)).map(({ name }) => name).sort();
  for (const name of all.filter((one) => one >= begin)) {
    const request = { limit, ...(name === begin && position ? { after: position } : {}) };
    const cursor = database
      .collection(name)
      .find<Row & Placed>(behind(request), cursorOptions(request, deadline));
    const { rows, next } = await readRows(cursor, lengthOf);
    if (next.next !== undefined) return { rows, next: { next: `${name}:${next.next}` } };
  }
  return { rows: [], next: {} };
}
