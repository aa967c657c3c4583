// Copies the values that are kept under a key, the responses that callers go on from, from one store into another.
import { createHash } from 'node:crypto';
import type { KeptRow, KeptValues } from '../kept-values.ts';
import { rowDigest } from '../row-digest.ts';
import type { Comparison } from './sides.ts';

export const KEPT_NAME = 'kept responses';

/** Copies all that the source has, each in the place of one of the same key, and answers how many there were. */
export async function copyKept(source: KeptValues, target: KeptValues): Promise<number> {
  let count = 0;
  for await (const { key, value, expiresAt } of rowsOf(source)) {
    await target.put(key, value, expiresAt);
    count++;
  }
  return count;
}

/** All values on both sides. */
export async function compareKept(source: KeptValues, target: KeptValues): Promise<Comparison> {
  const [mine, theirs] = await Promise.all([digestOf(source), digestOf(target)]);
  return { name: KEPT_NAME, source: mine, target: theirs };
}

async function digestOf(values: KeptValues): Promise<Comparison['source']> {
  const rows = rowDigest();
  for await (const { key, value, expiresAt } of rowsOf(values)) {
    rows.add(`${key} ${expiresAt} ${createHash('sha256').update(value).digest('hex')}`);
  }
  return { count: rows.count, hash: rows.hash };
}

async function* rowsOf(values: KeptValues): AsyncGenerator<KeptRow> {
  let after = '';
  for (;;) {
    const rows = await values.scan(after);
    const last = rows.at(-1);
    if (last === undefined) return;
    yield* rows;
    after = last.key;
  }
}
