// Copies bodies and feedback of the request log from one store into another.
import type { LogPartMaintenance } from '../maintenance.ts';
import { canonicalJson, rowDigest } from '../row-digest.ts';
import type { Comparison, CopySide } from './sides.ts';

/** Bodies are large. */
const BATCH = 100;

type PartName = 'bodies' | 'feedback';
const PARTS: readonly PartName[] = ['bodies', 'feedback'];

/**
 * Copies all that the source has; answers how many, by name. A record that is there is skipped by the store itself.
 * @param toldOf what is told how many of a name are done, after each batch
 */
export async function copyLogParts(
  source: CopySide,
  target: CopySide,
  toldOf: (name: string) => (done: number) => void = () => () => undefined,
): Promise<readonly { readonly name: string; readonly count: number }[]> {
  const copied: { readonly name: string; readonly count: number }[] = [];
  for (const part of PARTS) {
    const [from, to] = [partOf(source, part), partOf(target, part)];
    const name = `request log ${part}`;
    const told = toldOf(name);
    let count = 0;
    for await (const records of batchesOf(from)) {
      await to.import(records);
      count += records.length;
      told(count);
    }
    copied.push({ name, count });
  }
  return copied;
}

/** All records on both sides. */
export async function compareLogParts(source: CopySide, target: CopySide): Promise<readonly Comparison[]> {
  const comparisons: Comparison[] = [];
  for (const part of PARTS) {
    const [mine, theirs] = await Promise.all([
      digestOf(partOf(source, part)),
      digestOf(partOf(target, part)),
    ]);
    comparisons.push({ name: `request log ${part}`, source: mine, target: theirs });
  }
  return comparisons;
}

function partOf({ logMaintenance }: CopySide, part: PartName): LogPartMaintenance<unknown> {
  return logMaintenance[part] as LogPartMaintenance<unknown>;
}

async function digestOf(part: LogPartMaintenance<unknown>): Promise<Comparison['source']> {
  const rows = rowDigest();
  for await (const records of batchesOf(part)) {
    for (const record of records) rows.add(canonicalJson(record));
  }
  return { count: rows.count, hash: rows.hash };
}

async function* batchesOf(part: LogPartMaintenance<unknown>): AsyncGenerator<readonly unknown[]> {
  let after: string | undefined;
  do {
    const { records, next } = await part.scan({ limit: BATCH, ...(after === undefined ? {} : { after }) });
    yield records;
    after = next;
  } while (after !== undefined);
}
