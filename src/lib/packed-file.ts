// Files that a build keeps compressed: what is large, asked for rarely, and text.
import { readFileSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { promisify } from 'node:util';
import { brotliDecompress, brotliDecompressSync } from 'node:zlib';

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

/** The same at once, for what is read when it is first needed: a few milliseconds. @throws Error ENOENT */
export function readPackedNow(url: URL): string {
  try {
    return readFileSync(url, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    return brotliDecompressSync(readFileSync(new URL(`${url.href}.br`))).toString('utf8');
  }
}
