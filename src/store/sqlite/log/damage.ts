// Damage to the files of the log: found by readers, reported once, and left out of answers until the file is repaired.

/** A file of the log that is not as it was written. */
export interface LogDamage {
  readonly file: string;
  /** Where in it the damaged segment begins, in bytes; undefined: the whole file, or a file of bodies. */
  readonly offset?: number;
  readonly why: string;
  /** Whether entries, bodies or roll-ups cannot be read because of it. */
  readonly lost: boolean;
}

/** Thrown by readers of a segment that differs from what was written. */
export class DamagedSegment extends Error {
  /** Of the segment in the list. */
  readonly id: number;
  readonly damage: LogDamage;

  constructor(id: number, damage: LogDamage) {
    super(`the log file ${damage.file} is damaged at ${damage.offset ?? 0}: ${damage.why}`);
    this.id = id;
    this.damage = damage;
  }
}

/** The known damage, as found by any worker. */
export interface DamageList {
  readonly add: (damage: LogDamage) => void;
  /** Places that cannot be read. */
  readonly count: () => number;
}

/** @param onDamage called once for each damaged place */
export function damageList(onDamage: (damage: LogDamage) => void): DamageList {
  const lost = new Set<string>();
  return {
    add: (damage) => {
      const place = `${damage.file} ${damage.offset ?? ''}`;
      // A whole file that is known to be damaged has its segments in it.
      if (lost.has(place) || lost.has(`${damage.file} `)) return;
      if (damage.lost) lost.add(place);
      onDamage(damage);
    },
    count: () => lost.size,
  };
}
