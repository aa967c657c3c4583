// The names of metadata that rows have.
import type { Scratch, Segment } from './segment.ts';
import type { SelectedRows } from './selection.ts';
import type { TextHead } from './text-column.ts';

/** Collects names, segment by segment; a name that is known is not looked for again. */
export class MetadataNames {
  readonly #most: number;
  readonly #scratch: Scratch;
  readonly #names = new Set<string>();

  /** @param most names; further ones are left out */
  constructor(most: number, scratch: Scratch) {
    this.#most = most;
    this.#scratch = scratch;
  }

  get list(): string[] {
    return [...this.#names].sort();
  }

  add(segment: Segment, selected: SelectedRows): void {
    for (const [name, column] of segment.head.metadata) {
      if (this.#names.size >= this.#most) return;
      if (!this.#names.has(name) && this.#hasAny(segment, column, selected)) this.#names.add(name);
    }
    if (segment.head.pairs === undefined || this.#names.size >= this.#most) return;
    const isMeant = new Uint8Array(segment.count);
    for (let i = 0; i < selected.count; i++) isMeant[selected.rows[i] as number] = 1;
    for (const [row, name] of segment.pairs()) {
      if (this.#names.size >= this.#most) return;
      if (isMeant[row] === 1) this.#names.add(name);
    }
  }

  #hasAny(segment: Segment, column: TextHead, { rows, count }: SelectedRows): boolean {
    if (column.constant !== undefined) return column.constant > 0;
    // Some row of the segment has each text of a column.
    if (count === segment.count) return true;
    const ids = segment.packedIds(column, this.#scratch, 'names');
    for (let i = 0; i < count; i++) if (ids[rows[i] as number] !== 0) return true;
    return false;
  }
}
