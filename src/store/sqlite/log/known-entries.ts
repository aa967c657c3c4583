// What the writer knows of the entries that are there, so that one which is sent again is kept once. The newest are
// known by 53 bits of their key; older ones are looked up in the segments that their time falls into.

import type { StatementCache } from '../statement-cache.ts';
import { DamagedSegment } from './damage.ts';
import { type EntryKey, eachKey, textOfKey } from './entry-key.ts';
import type { TextHash } from './hash.ts';
import { readSegments, readState, readTail, readTailBack, type SegmentRow } from './manifest.ts';
import { NumberSet } from './number-set.ts';
import { Scratch, type Segment } from './segment.ts';
import type { SegmentFiles } from './segment-files.ts';

/** Keys of a generation; two are held: about 2 MB when they are full. */
const GENERATION = 65_536;
/** Entries whose keys are read in one step: some milliseconds' work. */
const STEP = 16_384;

export class KnownEntries {
  readonly #cached: StatementCache;
  readonly #files: SegmentFiles;
  readonly #hash: TextHash;
  readonly #generation: number;
  readonly #scratch = new Scratch();
  /** Segments of entries, by the end of their time. */
  #segments: SegmentRow[] = [];
  #sealed = 0;
  #newest = new NumberSet();
  #older = new NumberSet();
  /** The first place of arrival that the generations hold, and at which the newest begins. */
  #olderFrom = 1;
  #newestFrom = 1;
  /** Of entries before the generations that are not sealed: of so many millions of them none has the 53 bits of another. */
  readonly #backlog = new NumberSet();
  /** Up to this place of arrival the keys before the generations are not read; 0: they are. */
  #unreadTo = 0;
  /** Unix milliseconds: calls that began later are in nothing that is not read. */
  #loadedAt = 0;
  #batch: EntryKey[] = [];
  #tail: Set<string> | undefined;

  constructor(cached: StatementCache, files: SegmentFiles, hash: TextHash, generation: number = GENERATION) {
    this.#cached = cached;
    this.#files = files;
    this.#hash = hash;
    this.#generation = generation;
  }

  /**
   * Reads the newest stored keys, a generation of them: however many entries are not sealed, the first write waits for
   * no more. Called before the first write, and when a batch of additions was rolled back.
   */
  load(): void {
    this.#newest.clear();
    this.#older.clear();
    this.#backlog.clear();
    this.#batch = [];
    this.#unreadTo = 0;
    this.#loadedAt = Date.now();
    this.reloadSegments();
    this.#olderFrom = this.#sealed + 1;
    for (const [last, count, entries] of readTailBack(this.#cached, Number.MAX_SAFE_INTEGER)) {
      if (this.#newest.size >= this.#generation) {
        this.#unreadTo = last;
        break;
      }
      eachKey(entries, (key) => this.#newest.add(this.#number(key)));
      this.#olderFrom = last - count + 1;
    }
    this.#newestFrom = this.#olderFrom;
  }

  /** Called when the list of segments has changed. */
  reloadSegments(): void {
    this.#files.forget();
    this.#tail = undefined;
    this.#sealed = readState(this.#cached).sealed;
    this.#segments = readSegments(this.#cached, 0)
      .filter(({ kind }) => kind === 'entries')
      .sort((a, b) => a.maxTime - b.maxTime);
    if (this.#sealed + 1 < this.#olderFrom) return;
    this.#backlog.clear();
    this.#unreadTo = 0;
  }

  /** Whether there are entries that are neither sealed nor known. */
  get isBehind(): boolean {
    return this.#unreadTo > 0;
  }

  /**
   * Whether `readKeys` must be called before an entry is added: it is from before the start, and may be one of those
   * that were not sealed then.
   */
  mustRead({ createdAt }: EntryKey): boolean {
    return this.#unreadTo > 0 && createdAt < this.#loadedAt;
  }

  /** Reads some more keys of entries that are not sealed; true: all are read. */
  readKeys(): boolean {
    let read = 0;
    let more = 0;
    if (this.#unreadTo > 0)
      for (const [last, count, entries] of readTailBack(this.#cached, this.#unreadTo)) {
        if (read >= STEP) {
          more = last;
          break;
        }
        eachKey(entries, (key) => this.#backlog.add(this.#number(key)));
        read += count;
      }
    this.#unreadTo = more;
    return more === 0;
  }

  /** Called before the keys of a batch are added. */
  begin(): void {
    for (const key of this.#tail ? this.#batch : []) this.#tail?.add(textOfKey(key));
    this.#batch = [];
  }

  /** Takes a key in with its place of arrival; false: its entry is there already. */
  add(key: EntryKey, seq: number): boolean {
    const number = this.#number(key);
    if (this.#newest.has(number) || this.#older.has(number)) {
      if (this.#isNew(key) || this.#isSealed(key, Number.MAX_SAFE_INTEGER)) return false;
    } else if (this.#backlog.has(number) || this.#isSealed(key, this.#olderFrom)) {
      return false;
    }
    if (this.#newest.size >= this.#generation) this.#age(seq);
    this.#newest.add(number);
    this.#batch.push(key);
    return true;
  }

  /** Begins a generation. What the oldest has of entries that are not sealed is not forgotten. */
  #age(seq: number): void {
    if (this.#newestFrom - 1 > this.#sealed) this.#backlog.addAll(this.#older);
    [this.#newest, this.#older] = [this.#older, this.#newest];
    this.#newest.clear();
    this.#olderFrom = this.#newestFrom;
    this.#newestFrom = seq;
  }

  #number(key: EntryKey): number {
    return this.#hash.number(textOfKey(key));
  }

  /** Whether the batch or the tail has it. A batch that is sent again asks for each of its entries. */
  #isNew(key: EntryKey): boolean {
    const text = textOfKey(key);
    if (this.#batch.some((other) => textOfKey(other) === text)) return true;
    this.#tail ??= this.#tailKeys();
    return this.#tail.has(text);
  }

  /** Of the entries that the generations hold. */
  #tailKeys(): Set<string> {
    const keys = new Set<string>();
    for (const [, , entries] of readTail(this.#cached, Math.max(this.#sealed, this.#olderFrom - 1)))
      eachKey(entries, (key) => keys.add(textOfKey(key)));
    return keys;
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
