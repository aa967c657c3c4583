// Blobs in an S3-compatible object store: an object for each write, in the order of their places. Objects never change, so
// that a write survives when the store has answered.
import { fail } from '../../lib/errors.ts';
import type { S3Place } from '../../lib/s3-place.ts';
import { type BlobStore, checkBlobName } from '../blobs.ts';
import { s3Client } from './s3-client.ts';

/** Blobs with a connection of their own. */
export interface S3Blobs extends BlobStore {
  close(): Promise<void>;
}

/** Objects that are deleted at once. */
const AT_ONCE = 8;

export function s3Blobs(place: S3Place): S3Blobs {
  const client = s3Client(place);
  const partsOf = async (name: string) => {
    const under = `${checkBlobName(name)}/`;
    return (await client.list(under))
      .map(({ key, bytes }) => ({ key, bytes, at: Number(key.slice(under.length)) }))
      .sort((a, b) => a.at - b.at);
  };

  return {
    write: (name, at, bytes) => client.put(`${checkBlobName(name)}/${String(at).padStart(15, '0')}`, bytes),
    async size(name) {
      const last = (await partsOf(name)).at(-1);
      return last === undefined ? 0 : last.at + last.bytes;
    },
    async *read(name, length) {
      let done = 0;
      for (const { key, at, bytes } of length === 0 ? [] : await partsOf(name)) {
        if (done >= length) return;
        if (at !== done) throw fail('store_unavailable', 'a part of a file is not there');
        let left = Math.min(bytes, length - done);
        for await (const piece of client.get(key)) {
          if (left > 0) yield piece.subarray(0, left);
          left -= Math.min(left, piece.length);
        }
        done += bytes;
      }
      if (done < length) throw fail('store_unavailable', 'a file is shorter than it was written');
    },
    async remove(name) {
      const parts = await partsOf(name);
      for (let i = 0; i < parts.length; i += AT_ONCE)
        await Promise.all(parts.slice(i, i + AT_ONCE).map(({ key }) => client.remove(key)));
    },
    close: () => client.close(),
  };
}
