// Backfills a declaration's new fields: documents stored before have no value of the field next to their body yet.
import type mongoose from 'mongoose';
import type { Collection, IndexedField } from '../collection.ts';
import type { ColumnValue } from '../document-checks.ts';
import { storedValues } from '../upgrades.ts';
import { columnOf } from './columns.ts';
import { type DocumentRow, modelOf } from './document-schema.ts';
import { recordsOf } from './schema-versions.ts';

const BATCH = 200;

/**
 * Writes the values of new fields. What is cut off goes on from where it was at the next start.
 * @param there the names of the collections that the database has: in another one there is nothing to fill
 */
export async function fillColumns(
  connection: mongoose.Connection,
  collections: readonly Collection<object>[],
  there: ReadonlySet<string>,
): Promise<void> {
  const records = recordsOf(connection);
  const names = collections.map(({ name }) => name);
  const found = await records.find({ _id: { $in: names } }).toArray();
  const known = new Map(found.map(({ _id, fields = [] }) => [_id, new Set(fields)]));
  const empty: FilledFields[] = [];
  for (const collection of collections) {
    const fresh = collection.fields.filter((field) => !known.get(collection.name)?.has(field.name));
    if (fresh.length === 0) continue;
    const filled = filledFields(collection, fresh);
    if (!there.has(collection.name)) {
      empty.push(filled);
      continue;
    }
    for (const field of fresh) await fillColumn(connection, collection, field);
    await records.bulkWrite([filled]);
  }
  if (empty.length > 0) await records.bulkWrite(empty);
}

type FilledFields = ReturnType<typeof filledFields>;

/** The write that notes the fields as filled. */
function filledFields({ name }: Collection<object>, fields: readonly IndexedField[]) {
  const names = fields.map((field) => field.name);
  const update = { $addToSet: { fields: { $each: names } } };
  return { updateOne: { filter: { _id: name }, update, upsert: true } };
}

/**
 * Writes the values of all fields where documents have none: also of those that a program of an older declaration has
 * written since the fields were new.
 */
export async function fillMissingValues(
  connection: mongoose.Connection,
  collection: Collection<object>,
): Promise<void> {
  for (const field of collection.fields) await fillColumn(connection, collection, field);
}

async function fillColumn(
  connection: mongoose.Connection,
  collection: Collection<object>,
  field: IndexedField,
): Promise<void> {
  const model = modelOf(connection, collection);
  const column = columnOf(field);
  let last: mongoose.Types.ObjectId | undefined;
  for (;;) {
    const filter = { [column]: { $exists: false }, ...(last ? { _id: { $gt: last } } : {}) };
    const rows = await model
      .find(filter, { body: 1, version: 1, schemaVersion: 1 })
      .sort({ _id: 1 })
      .limit(BATCH)
      .lean<OldRow[]>();
    if (rows.length === 0) return;
    // Against the version: a write since then has brought its own value.
    const writes = rows.map(({ _id, version, schemaVersion, body }) => ({
      updateOne: {
        filter: { _id, version: { $eq: version }, schemaVersion: { $eq: schemaVersion } },
        update: { $set: { [column]: columnValueOf(collection, field, schemaVersion, body) } },
      },
    }));
    await model.bulkWrite(writes, { ordered: false });
    last = rows.at(-1)?._id;
  }
}

type OldRow = Pick<DocumentRow, 'body' | 'version' | 'schemaVersion'> & { _id: mongoose.Types.ObjectId };

/** Of the body as this program understands it; null where it does not. */
function columnValueOf(
  collection: Collection<object>,
  field: IndexedField,
  schemaVersion: number,
  body: string,
): ColumnValue {
  const only = { ...collection, fields: [field] };
  try {
    return storedValues(only, schemaVersion, JSON.parse(body) as object)[0] ?? null;
  } catch {
    return null;
  }
}
