// Blobs in MongoDB's GridFS (its specification, "GridFS Spec"): `files.files` has a document for each, `files.chunks` its bytes
// in chunks of one size. A blob grows at its end, so its last chunk is written again with what follows.
import mongoose from 'mongoose';
import { fail } from '../../lib/errors.ts';
import { type BlobStore, checkBlobName } from '../blobs.ts';
import type { Calls } from './calls.ts';
import { MAJORITY } from './transaction.ts';

interface FileDocument {
  readonly _id: string;
  readonly filename: string;
  readonly length: number;
  readonly chunkSize: number;
  readonly uploadDate: Date;
}

interface ChunkDocument {
  /** Name and number: a chunk that is written twice is there once. */
  readonly _id: string;
  readonly files_id: string;
  readonly n: number;
  readonly data: mongoose.mongo.Binary;
}

const BUCKET = 'files';
/** Of one chunk, in bytes: GridFS's own. */
const CHUNK = 255 * 1024;

/** @param older where blobs are that were begun before GridFS: they are read, and go on, there */
export function gridBlobs(connection: mongoose.Connection, calls: Calls, older: BlobStore): BlobStore {
  const files = () => connection.collection<FileDocument>(`${BUCKET}.files`);
  const chunks = () => connection.collection<ChunkDocument>(`${BUCKET}.chunks`);
  const idOf = (name: string, n: number): string => `${checkBlobName(name)}:${String(n).padStart(9, '0')}`;

  const lengthOf = async (name: string): Promise<number | undefined> => {
    const found = await calls.run((deadline) =>
      files().findOne({ _id: checkBlobName(name) }, { maxTimeMS: deadline.remaining() }),
    );
    return found?.length;
  };
  const chunkOf = async (name: string, n: number): Promise<Buffer | undefined> => {
    const found = await calls.run((deadline) =>
      chunks().findOne({ _id: idOf(name, n) }, { maxTimeMS: deadline.remaining() }),
    );
    return found === null ? undefined : Buffer.from(found.data.buffer.subarray(0, found.data.length()));
  };
  const put = (name: string, n: number, bytes: Uint8Array): Promise<unknown> =>
    calls.run(() =>
      chunks().replaceOne(
        { _id: idOf(name, n) },
        { files_id: name, n, data: new mongoose.mongo.Binary(bytes) },
        { upsert: true, writeConcern: MAJORITY },
      ),
    );

  return {
    async write(name, at, bytes) {
      if (at > 0 && (await lengthOf(name)) === undefined) return older.write(name, at, bytes);
      const before = at % CHUNK;
      let n = Math.floor(at / CHUNK);
      const begun = before === 0 ? undefined : (await chunkOf(name, n))?.subarray(0, before);
      if (before > 0 && begun?.length !== before)
        throw fail('store_unavailable', 'a file is shorter than it was written');
      let rest = begun === undefined ? bytes : Buffer.concat([begun, bytes]);
      do {
        await put(name, n++, rest.subarray(0, CHUNK));
        rest = rest.subarray(CHUNK);
      } while (rest.length > 0);
      const file = { filename: name, length: at + bytes.length, chunkSize: CHUNK, uploadDate: new Date() };
      // Written last: what it says is there.
      await calls.run(() =>
        files().replaceOne({ _id: checkBlobName(name) }, file, { upsert: true, writeConcern: MAJORITY }),
      );
    },
    async size(name) {
      return (await lengthOf(name)) ?? older.size(name);
    },
    async *read(name, length) {
      if (length === 0) return;
      const stored = await lengthOf(name);
      if (stored === undefined) return yield* older.read(name, length);
      if (stored < length) throw fail('store_unavailable', 'a file is shorter than it was written');
      for (let n = 0, done = 0; done < length; n++) {
        const bytes = await chunkOf(name, n);
        if (bytes === undefined || bytes.length < Math.min(CHUNK, length - done))
          throw fail('store_unavailable', 'a part of a file is not there');
        yield bytes.subarray(0, length - done);
        done += CHUNK;
      }
    },
    async remove(name) {
      await calls.run(() => files().deleteOne({ _id: checkBlobName(name) }, { writeConcern: MAJORITY }));
      const range = { $gte: idOf(name, 0), $lt: `${name};` };
      await calls.run(() => chunks().deleteMany({ _id: range }, { writeConcern: MAJORITY }));
      await older.remove(name);
    },
  };
}
