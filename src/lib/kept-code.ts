// The file of compiled code: a checksum, then each piece as a head of eight bytes (length of the name, length of the code), the
// name and the code, each from a multiple of eight on, where the engine can use it as it stands.
import { closeSync, openSync, readdirSync, renameSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { crc32 } from 'node:zlib';

/** With memory of its own, which can be given back. */
export type Code = Buffer<ArrayBuffer>;

/** Code by the names of files. */
export type Kept = Map<string, Code>;

/** Of a build's fingerprint, with which a file's name begins: two builds are told apart by it. */
export const BUILD_LENGTH = 16;

const ALIGNED = 8;

/** What a file holds, in place. Empty where it was not written whole. */
export function readCode(bytes: Code): Kept {
  const kept: Kept = new Map();
  if (bytes.length < ALIGNED || bytes.readUInt32LE(0) !== crc32(bytes.subarray(ALIGNED))) return kept;
  for (let at = ALIGNED; at < bytes.length; ) {
    const name = at + ALIGNED;
    const code = aligned(name + bytes.readUInt32LE(at));
    const end = code + bytes.readUInt32LE(at + 4);
    kept.set(bytes.toString('utf8', name, name + bytes.readUInt32LE(at)), bytes.subarray(code, end));
    at = aligned(end);
  }
  return kept;
}

/**
 * Writes a file in the place of what is there, and removes those of earlier builds. Each piece is made, written and given
 * back before the next one: all together are some megabytes.
 */
export async function writeCode(file: string, code: ReadonlyMap<string, () => Code>): Promise<void> {
  const scratch = `${file}.${process.pid}`;
  try {
    const out = openSync(scratch, 'wx', 0o600);
    try {
      let sum = 0;
      let at = ALIGNED;
      const write = (data: Buffer): void => {
        const rest = Buffer.alloc(aligned(data.length) - data.length);
        for (const part of [data, rest]) {
          sum = crc32(part, sum);
          for (let done = 0; done < part.length; ) done += writeSync(out, part, done, undefined, at + done);
          at += part.length;
        }
      };
      for (const [name, make] of code) {
        const data = make();
        const head = Buffer.alloc(ALIGNED);
        head.writeUInt32LE(Buffer.byteLength(name), 0);
        head.writeUInt32LE(data.length, 4);
        write(Buffer.concat([head, Buffer.from(name)]));
        write(data);
        release(data);
        await setImmediate();
      }
      const head = Buffer.alloc(ALIGNED);
      head.writeUInt32LE(sum);
      writeSync(out, head, 0, undefined, 0);
    } finally {
      closeSync(out);
    }
    renameSync(scratch, file);
    removeEarlier(dirname(file), basename(file));
  } catch {
    rmSync(scratch, { force: true });
    // The next start tries again.
  }
}

/** Gives the memory of a buffer back at once, where it has all of it for itself. */
export function release(data: Code): void {
  if (data.length > 0 && data.length === data.buffer.byteLength) data.buffer.transfer(0);
}

function removeEarlier(folder: string, own: string): void {
  for (const name of readdirSync(folder))
    if (name.endsWith('.code') && name.slice(0, BUILD_LENGTH) !== own.slice(0, BUILD_LENGTH))
      rmSync(join(folder, name), { force: true });
}

function aligned(at: number): number {
  return Math.ceil(at / ALIGNED) * ALIGNED;
}
