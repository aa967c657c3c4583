// Kept values in MongoDB: a document each, deleted by the sweep.
import mongoose from 'mongoose';
import { KEPT_PAGE, type KeptRow, type KeptValues, LIST_PAGE } from '../kept-values.ts';
import type { Calls } from './calls.ts';
import { MAJORITY } from './transaction.ts';

interface Kept {
  readonly _id: string;
  readonly expiresAt: number;
  readonly value: mongoose.mongo.Binary;
}

export const KEPT = 'kept_values';
/** What the sweep finds its values by. */
export const KEPT_INDEXES: readonly mongoose.mongo.IndexDescription[] = [
  { key: { expiresAt: 1 }, name: 'kept_by_expiry' },
];
/** Documents that one sweep deletes at the most. */
const SWEPT = 1000;

export function mongoKeptValues(connection: mongoose.Connection, calls: Calls): KeptValues {
  const collection = () => connection.collection<Kept>(KEPT);
  return {
    async put(key, value, expiresAt) {
      const kept = { expiresAt, value: new mongoose.mongo.Binary(value) };
      await calls.run(() =>
        collection().replaceOne({ _id: key }, kept, { upsert: true, writeConcern: MAJORITY }),
      );
    },
    async get(key, now) {
      const kept = await calls.run((deadline) =>
        collection().findOne({ _id: key, expiresAt: { $gt: now } }, { maxTimeMS: deadline.remaining() }),
      );
      return kept === null ? undefined : bytesOf(kept);
    },
    async replace(key, before, value, expiresAt) {
      const { matchedCount } = await calls.run(() =>
        collection().updateOne(
          { _id: key, value: new mongoose.mongo.Binary(before) },
          { $set: { value: new mongoose.mongo.Binary(value), expiresAt } },
          { writeConcern: MAJORITY },
        ),
      );
      return matchedCount > 0;
    },
    async remove(key) {
      const { deletedCount } = await calls.run(() =>
        collection().deleteOne({ _id: key }, { writeConcern: MAJORITY }),
      );
      return deletedCount > 0;
    },
    async scan(after) {
      const rows = await calls.run((deadline) =>
        collection()
          .find({ _id: { $gt: after } }, { maxTimeMS: deadline.remaining() })
          .sort({ _id: 1 })
          .limit(KEPT_PAGE)
          .toArray(),
      );
      return rows.map(rowOf);
    },
    async list(prefix, after) {
      const rows = await calls.run((deadline) =>
        collection()
          .find({ _id: { $gt: after, $lt: `${prefix}\u{10ffff}` } }, { maxTimeMS: deadline.remaining() })
          .sort({ _id: 1 })
          .limit(LIST_PAGE)
          .toArray(),
      );
      return rows.map(rowOf);
    },
    sweep: (now) =>
      calls.run(async (deadline) => {
        const over = await collection()
          .find({ expiresAt: { $lte: now } }, { maxTimeMS: deadline.remaining() })
          .project<{ _id: string }>({ _id: 1 })
          .sort({ expiresAt: 1 })
          .limit(SWEPT)
          .toArray();
        if (over.length === 0) return 0;
        const ids = over.map(({ _id }) => _id);
        return (await collection().deleteMany({ _id: { $in: ids }, expiresAt: { $lte: now } })).deletedCount;
      }),
  };
}

function rowOf(row: Kept): KeptRow {
  return { key: row._id, expiresAt: row.expiresAt, value: bytesOf(row) };
}

function bytesOf({ value }: Kept): Uint8Array {
  return value.buffer.subarray(0, value.length());
}
