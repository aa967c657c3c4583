// Scans by `_id`: rows of all tenants in about the order in which they came.
import mongoose from 'mongoose';
import { invalidField } from '../../lib/errors.ts';
import { SCAN_LIMITS, type ScanBatch, type ScanRequest } from '../maintenance.ts';
import type { Deadline } from './calls.ts';
import { documentOf } from './document-rows.ts';
import type { DocumentModel, DocumentRow } from './document-schema.ts';
import type { Filter } from './page-filter.ts';

/** An `_id`. */
export const POSITION: RegExp = /^[0-9a-f]{24}$/;

/** Rows of all tenants. */
export async function scanDocuments(
  model: DocumentModel,
  request: ScanRequest,
  deadline: Deadline,
): Promise<ScanBatch> {
  const { olderThan } = request;
  const filter = olderThan === undefined ? {} : { schemaVersion: { $lt: olderThan } };
  const cursor = model.collection.find<DocumentRow & Placed>(
    { ...filter, ...behind(request) },
    cursorOptions(request, deadline),
  );
  const { rows, next } = await readRows(cursor, ({ body }) => body.length);
  const documents = rows.map((row) => ({ document: documentOf<object>(row), stamp: stampOf(row) }));
  return { documents, ...next };
}

/** The `_id` and the body. */
function stampOf({ _id, body }: DocumentRow & Placed): string {
  return _id.toHexString() + body;
}

/** The row that a stamp was made of, if it still has that body. */
export function stampedRow(stamp: string): Filter {
  const [place, body] = [stamp.slice(0, 24), stamp.slice(24)];
  if (!POSITION.test(place)) throw invalidField('stamp', 'is none of ours', 'stamp');
  return { _id: new mongoose.Types.ObjectId(place), body: { $eq: body } };
}

export interface Placed {
  readonly _id: mongoose.Types.ObjectId;
}

export function behind({ after }: ScanRequest): Filter {
  return after === undefined ? {} : { _id: { $gt: new mongoose.Types.ObjectId(after) } };
}

export function cursorOptions({ limit }: ScanRequest, deadline: Deadline): mongoose.mongo.FindOptions {
  return { sort: { _id: 1 }, limit, batchSize: Math.min(limit, 200), maxTimeMS: deadline.remaining() };
}

/** Rows until there are so many characters of what `lengthOf` counts, and where to go on. */
export async function readRows<Row extends Placed>(
  cursor: mongoose.mongo.FindCursor<Row>,
  lengthOf: (row: Row) => number,
): Promise<{ readonly rows: readonly Row[]; readonly next: { readonly next?: string } }> {
  const rows: Row[] = [];
  let length = 0;
  try {
    for await (const row of cursor) {
      rows.push(row);
      length += lengthOf(row);
      if (length >= SCAN_LIMITS.characters) break;
    }
  } finally {
    await cursor.close();
  }
  const last = rows.at(-1);
  return { rows, next: last === undefined ? {} : { next: last._id.toHexString() } };
}
