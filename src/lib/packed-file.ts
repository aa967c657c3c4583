// Files that a build keeps compressed: what is large, asked for rarely, and text.
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress } from 'node:zlib';

const unpacked = promisify(brotliDecompress);

/** The bytes of the file, or of its compressed twin `<path>.br` where only that is there. @throws Error ENOENT */
export async function readPacked(path: string): Promise<Buffer> {
  try {
    return await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return unpacked(await readFile(`${path}.br`));
  }
}
