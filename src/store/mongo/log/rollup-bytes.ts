// Rows of roll-ups as bytes: a table of values, then the rows as variable-length numbers.
import type { LogRollups } from '../../log/aggregation.ts';
import { Bytes, Reader } from './number-bytes.ts';

export interface KeptRow {
  readonly values: readonly string[];
  readonly rollup: LogRollups;
}

const FORMAT = 1;

/** The counts of a roll-up, in the order in which they are stored. */
const COUNTS = [
  ...(['requests', 'successes', 'errors', 'promptTokens', 'completionTokens', 'totalTokens'] as const),
  ...(['latencyUs', 'cacheHits', 'semanticHits', 'cacheLatencyUs', 'retried', 'rescued'] as const),
  ...(['firstSeen', 'lastSeen'] as const),
];
const MONEY = ['cost', 'saved', 'semanticSaved'] as const;

export function encodeRows(rows: readonly KeptRow[]): Buffer {
  const bytes = new Bytes();
  const table = new Map<string, number>();
  for (const { values } of rows)
    for (const value of values) if (!table.has(value)) table.set(value, table.size);
  bytes.number(FORMAT);
  bytes.number(table.size);
  for (const value of table.keys()) bytes.text(value);
  bytes.number(rows.length);
  bytes.number(rows[0]?.values.length ?? 0);
  for (const { values, rollup } of rows) {
    for (const value of values) bytes.number(table.get(value) as number);
    for (const count of COUNTS) bytes.number(rollup[count]);
    for (const amount of MONEY) bytes.text(rollup[amount] === 0n ? '' : rollup[amount].toString(36));
    bytes.histogram(rollup.latencies);
  }
  return bytes.all();
}

/**
 * Yields row after row, so that a reader of many can yield to the event loop in between.
 * @param latencies whether histograms are wanted
 */
export function* decodeRows(data: Uint8Array, latencies = true): Generator<KeptRow> {
  const reader = new Reader(data);
  if (reader.number() !== FORMAT) throw new Error('stored roll-ups are of a newer program');
  const table = Array.from({ length: reader.number() }, () => reader.text());
  const count = reader.number();
  const width = reader.number();
  for (let i = 0; i < count; i++) {
    const values: string[] = [];
    for (let at = 0; at < width; at++) values.push(table[reader.number()] as string);
    yield { values, rollup: readRollups(reader, latencies) };
  }
}

function readRollups(reader: Reader, wanted: boolean): LogRollups {
  const counts = {} as Record<(typeof COUNTS)[number], number>;
  for (const count of COUNTS) counts[count] = reader.number();
  const money = {} as Record<(typeof MONEY)[number], bigint>;
  for (const amount of MONEY) money[amount] = amountOf(reader.text());
  return { ...counts, ...money, latencies: reader.histogram(wanted) };
}

/** Digits of base 36. */
function amountOf(text: string): bigint {
  if (text.length <= 10) return BigInt(text === '' ? 0 : Number.parseInt(text, 36));
  let amount = 0n;
  for (const digit of text) amount = amount * 36n + BigInt(Number.parseInt(digit, 36));
  return amount;
}
