// Rows of roll-ups as bytes: a table of values, then the rows as variable-length numbers.
import type { LogRollups } from '../../log/aggregation.ts';

export interface KeptRow {
  readonly values: readonly string[];
  readonly rollup: LogRollups;
}

const FORMAT = 1;
/** A larger number, one with a fraction or a negative one is kept as a double. */
const LARGEST = 2 ** 51;

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
    bytes.number(rollup.latencies.size);
    let last = 0;
    for (const bucket of [...rollup.latencies.keys()].sort((a, b) => a - b)) {
      bytes.number(bucket - last);
      bytes.number(rollup.latencies.get(bucket) as number);
      last = bucket;
    }
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
  const latencies = new Map<number, number>();
  let bucket = 0;
  for (let left = reader.number(); left > 0; left--) {
    bucket += reader.number();
    const count = reader.number();
    if (wanted) latencies.set(bucket, count);
  }
  return { ...counts, ...money, latencies };
}

/** Digits of base 36. */
function amountOf(text: string): bigint {
  if (text.length <= 10) return BigInt(text === '' ? 0 : Number.parseInt(text, 36));
  let amount = 0n;
  for (const digit of text) amount = amount * 36n + BigInt(Number.parseInt(digit, 36));
  return amount;
}

class Bytes {
  #buffer = Buffer.allocUnsafe(4096);
  #length = 0;

  /** A whole number to `LARGEST` doubled, seven bits a byte; any other one after the number 1, as a double. */
  number(value: number): void {
    this.#reserve(12);
    if (!Number.isInteger(value) || value < 0 || value > LARGEST) {
      this.#buffer[this.#length++] = 1;
      this.#length = this.#buffer.writeDoubleLE(value, this.#length);
      return;
    }
    let left = value * 2;
    while (left >= 128) {
      this.#buffer[this.#length++] = (left % 128) + 128;
      left = Math.floor(left / 128);
    }
    this.#buffer[this.#length++] = left;
  }

  text(value: string): void {
    const bytes = Buffer.from(value);
    this.number(bytes.length);
    this.#reserve(bytes.length);
    this.#length += bytes.copy(this.#buffer, this.#length);
  }

  all(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }

  #reserve(more: number): void {
    if (this.#length + more <= this.#buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#length + more));
    this.#buffer.copy(larger, 0, 0, this.#length);
    this.#buffer = larger;
  }
}

class Reader {
  readonly #data: Buffer;
  #at = 0;

  constructor(data: Uint8Array) {
    this.#data = Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  }

  number(): number {
    let byte = this.#next();
    if (byte === 1) {
      const value = this.#data.readDoubleLE(this.#at);
      this.#at += 8;
      return value;
    }
    let value = byte % 128;
    for (let weight = 128; byte >= 128; weight *= 128) {
      byte = this.#next();
      value += (byte % 128) * weight;
    }
    return value / 2;
  }

  text(): string {
    const length = this.number();
    this.#at += length;
    return this.#data.toString('utf8', this.#at - length, this.#at);
  }

  #next(): number {
    const byte = this.#data[this.#at++];
    if (byte === undefined) throw new Error('stored roll-ups are cut off');
    return byte;
  }
}
