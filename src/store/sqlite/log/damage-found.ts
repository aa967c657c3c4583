// What a reader found damaged: left out of its answers for a while, and told once.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { StatementCache } from '../statement-cache.ts';
import type { DamagedSegment, LogDamage } from './damage.ts';
import { readSegments } from './manifest.ts';
import { damagedAt } from './segment-checksums.ts';

/** A file that was mended is read again after so long, in milliseconds. */
const AGAIN_MS = 30_000;
/** Places that are remembered as told. */
const TOLD = 10_000;

export class DamageFound {
  readonly #until = new Map<number, number>();
  readonly #ids = new Set<number>();
  readonly #told = new Set<string>();
  #untold: LogDamage[] = [];

  /** Segments that are left out, by id. */
  get ids(): ReadonlySet<number> {
    return this.#ids;
  }

  found({ id, damage }: DamagedSegment): void {
    this.#ids.add(id);
    this.#until.set(id, performance.now() + AGAIN_MS);
    this.tell(damage);
  }

  /** Looks which of the files that are listed are not there. */
  foundMissing(cached: StatementCache, folder: string): void {
    const there = new Map<string, boolean>();
    for (const row of readSegments(cached, 0)) {
      const { file } = row;
      if (!there.has(file)) there.set(file, existsSync(join(folder, file)));
      if (!there.get(file)) this.found(damagedAt(row, 'the file is missing'));
    }
  }

  readonly tell = (damage: LogDamage): void => {
    const place = `${damage.file} ${damage.offset ?? ''}`;
    if (this.#told.has(place) || this.#told.size >= TOLD) return;
    this.#told.add(place);
    this.#untold.push(damage);
  };

  /** What was found since the last time and never before. */
  told(): readonly LogDamage[] {
    const untold = this.#untold;
    this.#untold = [];
    return untold;
  }

  /** Forgets all findings, so that all files are checked again. */
  forgetAll(): void {
    this.#until.clear();
    this.#ids.clear();
  }

  /** Forgets old findings, which may be repaired by now. Called periodically. */
  forgetOld(): void {
    if (this.#until.size === 0) return;
    const now = performance.now();
    for (const [id, until] of this.#until) {
      if (until > now) continue;
      this.#until.delete(id);
      this.#ids.delete(id);
    }
  }
}
