// Entries as a segment.
import { constants, zstdCompressSync } from 'node:zlib';
import { type EntryTuple, isRescued } from '../../log/entry-tuple.ts';
import { latencyBucket } from '../../log/rollups.ts';
import { Blobs } from './blobs.ts';
import type { TextHash } from './hash.ts';
import { MoneyColumn } from './money-column.ts';
import { encodeNumbers, type NumberHead } from './number-column.ts';
import {
  CHUNK,
  NUMBER_COLUMNS,
  type NumberName,
  type SegmentHead,
  TEXT_COLUMNS,
  type TextName,
} from './segment-head.ts';
import { TextColumn, type TextHead } from './text-column.ts';

/** Rows of a segment at the most: their places are numbers of 16 bits. */
export const MOST_ROWS = 60_000;
type EntryNumber = (typeof NUMBER_COLUMNS)[number];

/** Keys of metadata with a column of their own. */
const KEYS = 64;

/** Columns whose texts can be searched. */
const SEARCHED: ReadonlySet<TextName> = new Set([
  ...(['id', 'traceId', 'path', 'provider', 'model', 'responseModel', 'error'] as const),
]);

/** A segment as bytes, and the same's head. */
export interface BuiltSegment {
  readonly bytes: Uint8Array;
  readonly head: SegmentHead;
  readonly minTime: number;
  readonly maxTime: number;
  readonly firstSeq: number;
  readonly lastSeq: number;
  /** Texts in the order of the rows. */
  readonly entries: readonly string[];
}

/** Takes entries in order of arrival. */
export class SegmentBuilder {
  readonly #texts: Record<TextName, TextColumn>;
  readonly #metadata = new Map<string, TextColumn>();
  readonly #pairs: [number, string, string][] = [];
  readonly #numbers: Record<EntryNumber, Float64Array>;
  readonly #cost: MoneyColumn;
  readonly #saved: MoneyColumn;
  readonly #entries: string[] = [];
  readonly #rows: number;
  readonly #hash: TextHash;
  #fractions = false;

  /** For `rows` entries, at most MOST_ROWS. */
  constructor(rows: number, hash: TextHash) {
    this.#rows = rows;
    this.#hash = hash;
    this.#texts = Object.fromEntries(TEXT_COLUMNS.map((name) => [name, new TextColumn(rows)])) as Record<
      TextName,
      TextColumn
    >;
    this.#cost = new MoneyColumn(rows);
    this.#saved = new MoneyColumn(rows);
    const own = { cost: this.#cost.values, saved: this.#saved.values };
    this.#numbers = {
      ...Object.fromEntries(
        NUMBER_COLUMNS.filter((name) => !(name in own)).map((name) => [name, new Float64Array(rows)]),
      ),
      ...own,
    } as Record<EntryNumber, Float64Array>;
  }

  add(seq: number, t: EntryTuple, entry: string): void {
    const row = this.#entries.push(entry) - 1;
    this.#numbers.seq[row] = seq;
    this.#addTexts(row, t);
    this.#addNumbers(row, t);
    for (const key in t[20]) this.#addPair(row, key, String(t[20][key]));
  }

  #addTexts(row: number, t: EntryTuple): void {
    const texts = this.#texts;
    const rare = t[24];
    texts.organisation.set(row, t[1]);
    texts.workspace.set(row, t[2]);
    texts.apiKey.set(row, t[6]);
    texts.provider.set(row, t[11]);
    texts.model.set(row, t[12]);
    texts.responseModel.set(row, t[13]);
    texts.statusCode.set(row, String(t[4]));
    texts.outcome.set(row, t[14]);
    texts.path.set(row, t[10]);
    texts.id.set(row, t[0]);
    texts.traceId.set(row, t[5]);
    texts.retries.set(row, String(rare?.[8] ?? 0));
    if (t[19]) {
      texts.error.set(row, t[19][1]);
      texts.errorReason.set(row, t[19][0]);
    }
    if (isRescued(t[23])) texts.rescued.set(row, '1');
    if (!rare) return;
    const [userId, cacheStatus, saved, config, virtualKey, prompt] = rare;
    if (userId !== null) texts.userId.set(row, userId);
    if (cacheStatus !== null) texts.cacheStatus.set(row, cacheStatus);
    if (saved !== null) this.#saved.set(row, saved);
    if (config !== null) texts.config.set(row, config);
    if (virtualKey !== null) texts.virtualKey.set(row, virtualKey);
    if (prompt !== null) texts.prompt.set(row, prompt);
    if (rare[10] !== null) texts.spanId.set(row, rare[10]);
  }

  #addNumbers(row: number, t: EntryTuple): void {
    const numbers = this.#numbers;
    const latencyMs = t[16];
    const us = Math.round(latencyMs * 1000);
    const usage = t[18];
    numbers.time[row] = t[3];
    numbers.latencyMs[row] = latencyMs;
    numbers.latencyUs[row] = us;
    numbers.latencyBucket[row] = latencyBucket(us);
    const firstTokenMs = t[17];
    if (firstTokenMs !== null) {
      const firstUs = Math.round(firstTokenMs * 1000);
      numbers.firstTokenUs[row] = firstUs;
      numbers.firstTokenBucket[row] = latencyBucket(firstUs) + 1;
    }
    if (us / 1000 !== latencyMs) this.#fractions = true;
    if (usage) {
      numbers.promptTokens[row] = usage[0];
      numbers.totalTokens[row] = usage[1];
      numbers.completionTokens[row] = usage[2] ?? 0;
    }
    if (t[22]) this.#cost.set(row, t[22]);
  }

  #addPair(row: number, key: string, value: string): void {
    let column = this.#metadata.get(key);
    if (column === undefined) {
      if (this.#metadata.size === KEYS) {
        this.#pairs.push([row, key, value]);
        return;
      }
      column = new TextColumn(this.#rows);
      this.#metadata.set(key, column);
    }
    column.set(row, value);
  }

  /** The segment of what was added; without chunks for one that is not to be kept. */
  finish(withChunks: boolean): BuiltSegment {
    const count = this.#entries.length;
    const order = this.#order(count);
    const placeOf = new Uint16Array(count);
    for (let place = 0; place < count; place++) placeOf[order[place] as number] = place;
    const blobs = new Blobs();
    const numbers = this.#encodeNumbers(order, blobs);
    const texts: Partial<Record<TextName, TextHead>> = {};
    for (const name of TEXT_COLUMNS) {
      const head = this.#texts[name].encode(order, blobs, this.#hash, SEARCHED.has(name));
      if (head) texts[name] = head;
    }
    const metadata = [...this.#metadata].flatMap(([key, column]) => {
      const head = column.encode(order, blobs, this.#hash, true);
      return head ? [[key, head] as const] : [];
    });
    const pairs = this.#pairs.map(([row, key, value]) => [placeOf[row], key, value]);
    const entries = Array.from(order, (row) => this.#entries[row] as string);
    const largeCost = this.#cost.large(placeOf);
    const largeSaved = this.#saved.large(placeOf);
    const head: SegmentHead = {
      count,
      texts,
      metadata,
      numbers,
      ...(pairs.length > 0 ? { pairs: blobs.add(Buffer.from(JSON.stringify(pairs))) } : {}),
      ...(largeCost.length > 0 ? { largeCost } : {}),
      ...(largeSaved.length > 0 ? { largeSaved } : {}),
      ...(withChunks ? { chunks: chunksOf(entries, blobs) } : {}),
    };
    return {
      head: withChunks ? { ...head, checksums: blobs.checksums } : head,
      entries,
      bytes: blobs.join(),
      minTime: numbers.time?.least ?? 0,
      maxTime: numbers.time?.greatest ?? 0,
      firstSeq: numbers.seq?.least ?? 0,
      lastSeq: numbers.seq?.greatest ?? 0,
    };
  }

  /** Rows by time, those of one time as they came. */
  #order(count: number): Uint16Array {
    const { time } = this.#numbers;
    const rows = Uint16Array.from({ length: count }, (_, row) => row);
    let sorted = true;
    for (let row = 1; row < count && sorted; row++)
      sorted = (time[row] as number) >= (time[row - 1] as number);
    return sorted ? rows : rows.sort((a, b) => (time[a] as number) - (time[b] as number) || a - b);
  }

  #encodeNumbers(order: Uint16Array, blobs: Blobs): SegmentHead['numbers'] {
    const heads: Partial<Record<NumberName, NumberHead>> = {};
    const ordered = new Float64Array(order.length);
    for (const name of NUMBER_COLUMNS) {
      if (name === 'latencyMs' && !this.#fractions) continue;
      const values = this.#numbers[name];
      for (let place = 0; place < ordered.length; place++) {
        ordered[place] = values[order[place] as number] as number;
      }
      heads[name] = encodeNumbers(ordered, ordered.length, blobs);
    }
    return heads;
  }
}

/**
 * Tables for texts of some 20 KiB: the usual ones are for megabytes, and to make them new for each chunk costs four times as
 * much as to compress it.
 */
const COMPRESSION = {
  params: {
    [constants.ZSTD_c_compressionLevel]: 1,
    [constants.ZSTD_c_windowLog]: 15,
    [constants.ZSTD_c_hashLog]: 12,
  },
};

function chunksOf(entries: readonly string[], blobs: Blobs): SegmentHead['chunks'] {
  const chunks: (readonly [number, number])[] = [];
  for (let at = 0; at < entries.length; at += CHUNK) {
    const text = entries.slice(at, at + CHUNK).join('\n');
    chunks.push(blobs.add(zstdCompressSync(text, COMPRESSION)));
  }
  return chunks;
}
