// What the writer knows of the entries that are there, so that one which is sent again is kept once. The newest are
// known by 53 bits of their key; older ones are looked up in the segments that their time falls into.

import { eachLine } from '../../log/entry-text.ts';
import type { EntryTuple } from '../../log/entry-tuple.ts';
import type { StatementCache } from '../statement-cache.ts';
import { DamagedSegment } from './damage.ts';
import type { TextHash } from './hash.ts';
import { readSegments, readState, readTail, type SegmentRow } from './manifest.ts';
import { NumberSet } from './number-set.ts';
import { Scratch, type Segment } from './segment.ts';
import type { SegmentFiles } from './segment-files.ts';

/** Keys of a generation; two are held: about 2 MB when they are full. */
const GENERATION = 65_536;

export interface EntryKey {
  readonly id: string;
  readonly organisationId: string;
  readonly createdAt: number;
}

export class KnownEntries {
  readonly #cached: StatementCache;
  readonly #files: SegmentFiles;
  readonly #hash: TextHash;
  readonly #scratch = new Scratch();
  /** Segments of entries, by the end of their time. */
  #segments: SegmentRow[] = [];
  #newest = new NumberSet();
  #older = new NumberSet();
  /** The first place of arrival that the generations hold, and at which the newest begins. */
  #olderFrom = 1;
  #newestFrom = 1;
  #batch: EntryKey[] = [];
  #tail: Set<string> | undefined;

  constructor(cached: StatementCache, files: SegmentFiles, hash: TextHash) {
    this.#cached = cached;
    this.#files = files;
    this.#hash = hash;
  }

  /** Reads the stored keys. Called at the start, and when a batch of additions was rolled back. */
  load(): void {
    this.#newest.clear();
    this.#older.clear();
    this.#olderFrom = readState(this.#cached).sealed + 1;
    this.#newestFrom = this.#olderFrom;
    this.reloadSegments();
    for (const key of this.#tailKeys()) this.#newest.add(this.#number(key));
  }

  reloadSegments(): void {
    this.#files.forget();
    this.#segments = readSegments(this.#cached, 0)
      .filter(({ kind }) => kind === 'entries')
      .sort((a, b) => a.maxTime - b.maxTime);
  }

  /** Called before the keys of a batch are added. */
  begin(): void {
    this.#batch = [];
    this.#tail = undefined;
  }

  /** Takes a key in with its place of arrival; false: its entry is there already. */
  add(key: EntryKey, seq: number): boolean {
    const number = this.#number(key);
    if (this.#newest.has(number) || this.#older.has(number)) {
      if (this.#isNew(key) || this.#isSealed(key, Number.MAX_SAFE_INTEGER)) return false;
    } else if (this.#isSealed(key, this.#olderFrom)) {
      return false;
    }
    if (this.#newest.size >= GENERATION) {
      [this.#newest, this.#older] = [this.#older, this.#newest];
      this.#newest.clear();
      this.#olderFrom = this.#newestFrom;
      this.#newestFrom = seq;
    }
    this.#newest.add(number);
    this.#batch.push(key);
    return true;
  }

  #number(key: EntryKey): number {
    return this.#hash.number(textOf(key));
  }

  #tailKeys(): EntryKey[] {
    const keys: EntryKey[] = [];
    for (const [, , entries] of readTail(this.#cached, 0)) {
      eachLine(entries, (line) => {
        const [id, organisationId, , createdAt] = JSON.parse(line) as EntryTuple;
        keys.push({ id, organisationId, createdAt });
      });
    }
    return keys;
  }

  /** Whether the batch or the tail has it. A batch that is sent again asks for each of its entries. */
  #isNew(key: EntryKey): boolean {
    const text = textOf(key);
    if (this.#batch.some((other) => textOf(other) === text)) return true;
    this.#tail ??= new Set(this.#tailKeys().map(textOf));
    return this.#tail.has(text);
  }

  /** Whether a segment that begins before a place of arrival has it. */
  #isSealed(key: EntryKey, before: number): boolean {
    const segments = this.#segments;
    let low = 0;
    let high = segments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((segments[middle] as SegmentRow).maxTime < key.createdAt) low = middle + 1;
      else high = middle;
    }
    for (let i = low; i < segments.length; i++) {
      const row = segments[i] as SegmentRow;
      if (row.minTime > key.createdAt || row.firstSeq >= before) continue;
      if (this.#hasIn(row, key)) return true;
    }
    return false;
  }

  /** A damaged segment counts as empty: new entries must not wait for its repair. */
  #hasIn(row: SegmentRow, key: EntryKey): boolean {
    try {
      return this.#has(this.#files.segment(row), key);
    } catch (error) {
      if (error instanceof DamagedSegment || (error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  }

  #has(segment: Segment, { id, organisationId, createdAt }: EntryKey): boolean {
    const column = segment.text('id');
    if (column === undefined) return false;
    const number = numberOf(segment, column, id, this.#hash, this.#scratch);
    if (number === 0) return false;
    const { count } = segment;
    const times = segment.numbers('time', this.#scratch);
    const ids =
      column.constant === undefined ? segment.ids(column, this.#scratch.ids('id', count)) : undefined;
    const organisation = segment.text('organisation');
    const owners =
      organisation && organisation.constant === undefined
        ? segment.ids(organisation, this.#scratch.ids('organisation', count))
        : undefined;
    for (let row = 0; row < count; row++) {
      if (times[row] !== createdAt || (ids && ids[row] !== number)) continue;
      const owner = owners?.[row] ?? organisation?.constant ?? 0;
      if (organisation && owner > 0 && segment.textOf(organisation, owner) === organisationId) return true;
    }
    return false;
  }
}

function textOf({ id, organisationId, createdAt }: EntryKey): string {
  return `${createdAt} ${organisationId.length} ${organisationId}${id}`;
}

/** A text's number in a column, 0 when it has none; the text itself decides. */
function numberOf(
  segment: Segment,
  column: NonNullable<ReturnType<Segment['text']>>,
  text: string,
  hash: TextHash,
  scratch: Scratch,
): number {
  if (column.values) return column.values.indexOf(text) + 1;
  const { lo, hi } = segment.hashes(column, hash, scratch, 'hashes');
  hash.of(text);
  const wanted = [hash.lo, hash.hi] as const;
  for (let at = firstOf(lo, wanted[0]); at < lo.length && lo[at] === wanted[0]; at++) {
    if (hi[at] === wanted[1] && segment.textOf(column, at + 1) === text) return at + 1;
  }
  return 0;
}

/** The first place of a rising array that is not below a value. */
export function firstOf(rising: Uint32Array, value: number): number {
  let low = 0;
  let high = rising.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((rising[middle] as number) < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
