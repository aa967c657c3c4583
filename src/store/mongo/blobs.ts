// Blobs in MongoDB: a document for each write, read by every instance in the order of their ids.
import mongoose from 'mongoose';
import { fail } from '../../lib/errors.ts';
import { type BlobStore, checkBlobName } from '../blobs.ts';
import type { Calls } from './calls.ts';
import { MAJORITY } from './transaction.ts';

interface Chunk {
  /** Name and place: ids in rising order are the bytes in order. */
  readonly _id: string;
  readonly bytes: mongoose.mongo.Binary;
}

const COLLECTION = 'blobs';
/** Of a chunk: a document holds 16 MiB at the most. */
const MAX_CHUNK = 8 * 1024 * 1024;

export function mongoBlobs(connection: mongoose.Connection, calls: Calls): BlobStore {
  const collection = () => connection.collection<Chunk>(COLLECTION);
  const after = (name: string, id: string) => ({ _id: { $gt: id, $lt: `${checkBlobName(name)};` } });

  /** The chunk after one; undefined after the last. */
  const next = (name: string, id: string): Promise<Chunk | null> =>
    calls.run((deadline) =>
      collection().findOne(after(name, id), { sort: { _id: 1 }, maxTimeMS: deadline.remaining() }),
    );

  return {
    async write(name, at, bytes) {
      if (bytes.length > MAX_CHUNK) throw new Error('a chunk is too long');
      const _id = idOf(name, at);
      await calls.run(() =>
        collection().replaceOne(
          { _id },
          { bytes: new mongoose.mongo.Binary(bytes) },
          { upsert: true, writeConcern: MAJORITY },
        ),
      );
    },
    async size(name) {
      const last = await calls.run((deadline) =>
        collection().findOne(after(name, `${name}:`), { sort: { _id: -1 }, maxTimeMS: deadline.remaining() }),
      );
      return last === null ? 0 : placeOf(last._id) + last.bytes.length();
    },
    async *read(name, length) {
      let done = 0;
      let id = `${name}:`;
      while (done < length) {
        const chunk = await next(name, id);
        if (chunk === null || placeOf(chunk._id) !== done)
          throw fail('store_unavailable', 'a part of a file is not there');
        const bytes = chunk.bytes.buffer.subarray(0, chunk.bytes.length());
        yield bytes.subarray(0, length - done);
        done += bytes.length;
        id = chunk._id;
      }
    },
    async remove(name) {
      await calls.run(() => collection().deleteMany(after(name, `${name}:`), { writeConcern: MAJORITY }));
    },
  };
}

function idOf(name: string, at: number): string {
  return `${checkBlobName(name)}:${String(at).padStart(15, '0')}`;
}

function placeOf(id: string): number {
  return Number(id.slice(id.lastIndexOf(':') + 1));
}
