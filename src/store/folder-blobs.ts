// Blobs as files of a folder, for one process.
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { fail } from '../lib/errors.ts';
import { type BlobStore, checkBlobName } from './blobs.ts';

const PIECE = 65_536;

/** @param folder made when the first blob is written */
export function folderBlobs(folder: string): BlobStore {
  const pathOf = (name: string): string => join(folder, checkBlobName(name));

  async function sizeOf(name: string): Promise<number> {
    try {
      return (await stat(pathOf(name))).size;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return 0;
      throw trouble(error);
    }
  }

  return {
    async write(name, at, bytes) {
      const path = pathOf(name);
      try {
        await mkdir(folder, { recursive: true, mode: 0o700 });
        const file = await opened(path, at > 0 ? 'r+' : 'w');
        try {
          await whole(file, bytes, at);
          await file.datasync();
        } finally {
          await file.close();
        }
        // A new file's name is kept by its folder.
        if (at === 0) await synced(folder);
      } catch (error) {
        throw trouble(error);
      }
    },
    size: sizeOf,
    async *read(name, length) {
      if (length === 0) return;
      if ((await sizeOf(name)) < length)
        throw fail('store_unavailable', 'a file is shorter than it was written');
      const pieces = createReadStream(pathOf(name), { end: length - 1, highWaterMark: PIECE });
      for await (const piece of pieces) yield piece as Uint8Array;
    },
    async remove(name) {
      await rm(pathOf(name), { force: true });
    },
  };
}

function opened(path: string, flags: string): Promise<FileHandle> {
  return open(path, flags, 0o600);
}

async function whole(file: FileHandle, bytes: Uint8Array, at: number): Promise<void> {
  for (let done = 0; done < bytes.length; )
    done += (await file.write(bytes, done, bytes.length - done, at + done)).bytesWritten;
}

async function synced(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function trouble(cause: unknown): Error {
  return fail('store_unavailable', 'a file of the data folder could not be used', { cause });
}
