// A declaration that grew: documents stored before have no value of the new field beside their body yet.
import type mongoose from 'mongoose';
import type { Collection, IndexedField } from '../collection.ts';
import { type ColumnValue, indexedValues } from '../document-checks.ts';
import { columnOf } from './columns.ts';
import { type DocumentRow, modelOf } from './document-schema.ts';

/** Which fields each collection's documents are known to have. With a dot, which no declared name has. */
const RECORD = 'sluice.columns';
const BATCH = 200;

interface Known {
  readonly _id: string;
  readonly fields: readonly string[];
}

/** Writes the values of new fields. What is cut off goes on from where it was at the next start. */
export async function fillColumns(
  connection: mongoose.Connection,
  collection: Collection<object>,
): Promise<void> {
  const records = connection.collection<Known>(RECORD);
  const known = new Set((await records.findOne({ _id: collection.name }))?.fields);
  const fresh = collection.fields.filter((field) => !known.has(field.name));
  if (fresh.length === 0) return;
  for (const field of fresh) await fillColumn(connection, collection, field);
  const names = fresh.map((field) => field.name);
  await records.updateOne(
    { _id: collection.name },
    { $addToSet: { fields: { $each: names } } },
    { upsert: true },
  );
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
      .find(filter, { body: 1, version: 1 })
      .sort({ _id: 1 })
      .limit(BATCH)
      .lean<(Pick<DocumentRow, 'body' | 'version'> & { _id: mongoose.Types.ObjectId })[]>();
    if (rows.length === 0) return;
    // Against the version: a write since then has brought its own value.
    const writes = rows.map(({ _id, version, body }) => ({
      updateOne: {
        filter: { _id, version: { $eq: version } },
        update: { $set: { [column]: storedValue(collection, field, JSON.parse(body)) } },
      },
    }));
    await model.bulkWrite(writes, { ordered: false });
    last = rows.at(-1)?._id;
  }
}

/** Null for a body that has no such value: it was right when it was written. */
function storedValue(collection: Collection<object>, field: IndexedField, body: object): ColumnValue {
  try {
    return indexedValues({ ...collection, fields: [field] }, body)[0] ?? null;
  } catch {
    return null;
  }
}
