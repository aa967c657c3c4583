// What every blob store does: appends that survive, writes that replace, reads of what was asked for.
import { createHash } from 'node:crypto';
import type { TestFn } from 'ava';
import type { BlobStore } from '../../src/store/blobs.ts';

const noise = (length: number, seed: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + seed + (i >> 7)) % 256));
const hash = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex');

async function all(blobs: BlobStore, name: string, length: number): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  for await (const piece of blobs.read(name, length)) pieces.push(Buffer.from(piece));
  return Buffer.concat(pieces);
}

/** @param open a store that is empty, and the same at each call */
export function blobContract(test: TestFn, kind: string, open: () => Promise<BlobStore>): void {
  test.serial(`${kind}: bytes are appended in pieces of any size, and read to any length`, async (t) => {
    const blobs = await open();
    t.is(await blobs.size('a'), 0);
    const pieces = [1, 261_119, 261_120, 261_121, 600_000, 3].map((length, i) => noise(length, i));
    let at = 0;
    for (const piece of pieces) {
      await blobs.write('a', at, piece);
      at += piece.length;
      t.is(await blobs.size('a'), at);
    }
    const whole = Buffer.concat(pieces);
    t.is(hash(await all(blobs, 'a', at)), hash(whole));
    for (const length of [0, 1, 261_120, 261_121, 1_000_000])
      t.is(hash(await all(blobs, 'a', length)), hash(whole.subarray(0, length)), `${length}`);
    await t.throwsAsync(all(blobs, 'a', at + 1), { message: /./ });
  });

  test.serial(`${kind}: a write at a place that was written replaces what is there`, async (t) => {
    const blobs = await open();
    await blobs.write('b', 0, noise(400_000, 1));
    await blobs.write('b', 400_000, noise(1000, 2));
    await blobs.write('b', 400_000, noise(2000, 3));
    t.is(await blobs.size('b'), 402_000);
    const whole = Buffer.concat([noise(400_000, 1), noise(2000, 3)]);
    t.is(hash(await all(blobs, 'b', 402_000)), hash(whole));
  });

  test.serial(`${kind}: names do not touch each other, and what is removed is gone`, async (t) => {
    const blobs = await open();
    for (const name of ['c', 'c1', 'c.1', 'c-1']) await blobs.write(name, 0, Buffer.from(name));
    await blobs.remove('c');
    await blobs.remove('c');
    t.is(await blobs.size('c'), 0);
    for (const name of ['c1', 'c.1', 'c-1']) t.is(String(await all(blobs, name, name.length)), name);
    await t.throwsAsync(all(blobs, 'c', 1));
    await blobs.write('c', 0, Buffer.from('again'));
    t.is(String(await all(blobs, 'c', 5)), 'again');
    await t.throwsAsync(async () => blobs.write('../c', 0, Buffer.from('x')));
  });
}
