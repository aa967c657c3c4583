// Entries that this process has written into the journal and carries on itself: they are not read back. In the journal
// they are claimed by this process from the beginning; the ones it does not carry in time are claimed by another.
import type { RequestRecord } from '../call/record.ts';
import type { OwnEntry } from '../store/shared-state.ts';

/** An entry with its place in its organisation's journal. */
export interface Own {
  readonly organisationId: string;
  readonly seq: string;
  readonly entry: RequestRecord;
  /** As the journal has it. */
  readonly text: string;
  /** When it was written at the latest, by `performance.now()`. */
  readonly at: number;
}

/** How long the claim excludes other processes, in milliseconds. */
const LEASE_MS = 6000;
/** The part of that time in which this process carries them. */
const CARRIED_MS = 4000;
/** Entries that wait in memory at once; further ones stay in the journal for the next claim. */
const MOST = 5_000;
/** Of their texts, in UTF-16 units. */
const MOST_UNITS = 16 * 1024 * 1024;

/** Keeps them in order until they are taken. */
export class OwnEntries {
  readonly #claim: NonNullable<OwnEntry['claim']>;
  #waiting: Own[] = [];
  #units = 0;

  /** @param owner this process, as a consumer of the journal */
  constructor(owner: string) {
    this.#claim = { consumer: owner, leaseMs: LEASE_MS };
  }

  get size(): number {
    return this.#waiting.length;
  }

  /** What the next entry is written with; undefined: there is no room for it here. */
  claim(): OwnEntry['claim'] {
    return this.#waiting.length < MOST && this.#units < MOST_UNITS ? this.#claim : undefined;
  }

  add(own: Own): void {
    this.#waiting.push(own);
    this.#units += own.text.length;
  }

  /** The oldest entries; other processes may claim them when they are not stored soon. */
  take(count: number): Own[] {
    const taken = this.#waiting.splice(0, count);
    for (const { text } of taken) this.#units -= text.length;
    return taken;
  }

  organisations(): Set<string> {
    return new Set(this.#waiting.map(({ organisationId }) => organisationId));
  }
}

/** Whether others may claim it soon: then it is left to them. */
export function isLate({ at }: Own): boolean {
  return performance.now() - at > CARRIED_MS;
}
