// Entries of the request log from one store into another. An entry that is there is skipped by the store itself.

import type { RequestRecord } from '../../call/record.ts';
import type { LogBatch } from '../maintenance.ts';
import { canonicalJson, rowDigest } from '../row-digest.ts';
import type { Comparison, CopySide } from './sides.ts';

export const LOG_NAME = 'request log';

const BATCH = 500;

async function* batchesOf({ logMaintenance }: CopySide): AsyncGenerator<readonly RequestRecord[]> {
  let after: string | undefined;
  do {
    const batch: LogBatch = await logMaintenance.scan({
      limit: BATCH,
      ...(after === undefined ? {} : { after }),
    });
    yield batch.entries;
    after = batch.next;
  } while (after !== undefined);
}

/** Copies all entries; answers how many the source has. */
export async function copyLog(
  source: CopySide,
  target: CopySide,
  told: (done: number) => void = () => undefined,
): Promise<number> {
  let count = 0;
  for await (const entries of batchesOf(source)) {
    await target.logMaintenance.importEntries(entries);
    count += entries.length;
    told(count);
  }
  return count;
}

/** All entries on both sides. */
export async function compareLogs(source: CopySide, target: CopySide): Promise<Comparison> {
  const digest = async (side: CopySide): Promise<Comparison['source']> => {
    const rows = rowDigest();
    for await (const entries of batchesOf(side)) {
      for (const entry of entries) rows.add(canonicalJson(entry));
    }
    return { count: rows.count, hash: rows.hash };
  };
  const [mine, theirs] = await Promise.all([digest(source), digest(target)]);
  return { name: LOG_NAME, source: mine, target: theirs };
}
