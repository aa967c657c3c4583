// The journal's reading side: entries that were written with their charges are carried on to the request log.
import { setImmediate } from 'node:timers/promises';
import { toGatewayError } from '../lib/errors.ts';
import type { RequestLogStore, RequestRecord } from '../store/request-log.ts';
import type { JournalEntry, SharedState } from '../store/shared-state.ts';
import { SlicedAppend } from './sliced-append.ts';

/** What the journal is read with. */
export interface JournalFacts {
  readonly state: SharedState;
  readonly store: Pick<RequestLogStore, 'append'>;
  /** This process, as the consumer of what it carries. */
  readonly owner: string;
  /** Ids of all organisations. */
  readonly organisations: () => Iterable<string>;
  readonly onTrouble: (error: unknown, what: string) => void;
}

/** What waits in all journals. */
export interface JournalStats {
  readonly entries: number;
  /** Age of the oldest, in milliseconds. */
  readonly lagMs: number;
}

interface Measured {
  readonly at: number;
  readonly size: number;
  readonly lagMs: number;
}

interface Carried {
  readonly entries: readonly RequestRecord[];
  readonly seqs: readonly string[];
  /** How many of the entries are stored. */
  stored: number;
}

const EVERY_MS = 50;
/** What processes left behind that are gone is looked for so often. */
const ALL_MS = 5_000;
/** After the store refused a batch, until it is tried again. */
const REST_MS = 1000;
const LEASE_MS = 15_000;
const BATCH = 500;
/** An organisation's journal is measured so often while there is something in it. */
const MEASURE_MS = 2000;
/** Longest entry that the journal takes, in UTF-16 units. */
const LONGEST = 1_000_000;

/** An entry for the journal; undefined when it is too long for it. */
export function journalEntry(record: RequestRecord): JournalEntry | undefined {
  const data = JSON.stringify(record);
  return data.length > LONGEST ? undefined : { id: record.id, data };
}

/** Carries entries on, at least once: the log keeps each once, by organisation, time and id. */
export class Journal {
  readonly #facts: JournalFacts;
  readonly #slices: SlicedAppend;
  readonly #marked = new Set<string>();
  /** Claimed, and not taken by the store yet. */
  readonly #held = new Map<string, Carried>();
  /** What waits, as it was measured last; those without are empty. */
  readonly #waiting = new Map<string, Measured>();
  readonly #timers: readonly NodeJS.Timeout[];
  #restUntil = 0;
  /** What was left before this process began is measured, though there may be nothing to claim of it yet. */
  #first = true;
  #measuring = false;
  #turn: Promise<void> | undefined;

  constructor(facts: JournalFacts) {
    this.#facts = facts;
    this.#slices = new SlicedAppend(facts.store, BATCH);
    this.#timers = [
      setInterval(() => {
        if (this.#marked.size > 0 && performance.now() >= this.#restUntil) void this.turn();
      }, EVERY_MS).unref(),
      setInterval(() => this.#markAll(), ALL_MS).unref(),
      setInterval(() => void this.#remind(), MEASURE_MS / 2).unref(),
    ];
    this.#markAll();
  }

  /** As it was measured within the last seconds. */
  stats(): JournalStats {
    let entries = 0;
    let lagMs = 0;
    for (const { size, lagMs: lag, at } of this.#waiting.values()) {
      entries += size;
      if (size > 0) lagMs = Math.max(lagMs, lag + performance.now() - at);
    }
    return { entries, lagMs };
  }

  /** There is something to carry for an organisation. */
  mark(organisationId: string): void {
    this.#marked.add(organisationId);
  }

  /** Carries what is there now. Never rejects: what the stores do not take is tried again. */
  turn(): Promise<void> {
    this.#turn ??= this.#run().finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  /** Resolves when what was marked before is carried, or could not be. */
  async flush(): Promise<void> {
    await this.#turn;
    if (this.#marked.size > 0) await this.turn();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.flush();
  }

  #markAll(): void {
    for (const id of this.#facts.organisations()) this.#marked.add(id);
  }

  async #run(): Promise<void> {
    for (const organisationId of [...this.#marked]) {
      try {
        this.#marked.delete(organisationId);
        let some = this.#first || this.#waiting.has(organisationId);
        while (await this.#carry(organisationId)) {
          some = true;
          await setImmediate();
          await this.#measure(organisationId);
        }
        if (some) await this.#measure(organisationId);
      } catch (error) {
        this.#marked.add(organisationId);
        this.#restUntil = performance.now() + REST_MS;
        await this.#measure(organisationId).catch(() => undefined);
        this.#facts.onTrouble(error, 'entries of the journal could not be carried on yet');
        return;
      }
    }
    this.#first = false;
  }

  /** What waits although nothing is there to claim was claimed by another process: its lease has to run out. */
  async #remind(): Promise<void> {
    for (const [organisationId, { at, size }] of this.#waiting) {
      if (size > 0) this.#marked.add(organisationId);
      else if (performance.now() - at > MEASURE_MS) this.#waiting.delete(organisationId);
    }
    // While a turn waits for the log store.
    if (this.#turn === undefined || this.#measuring) return;
    this.#measuring = true;
    try {
      for (const organisationId of new Set([...this.#held.keys(), ...this.#marked]))
        await this.#measure(organisationId);
    } catch {
      // The shared store is away as well: nobody knows.
    } finally {
      this.#measuring = false;
    }
  }

  async #measure(organisationId: string): Promise<void> {
    const before = this.#waiting.get(organisationId);
    if (before !== undefined && performance.now() - before.at < MEASURE_MS) return;
    const { size, lagMs } = await this.#facts.state.readJournal(organisationId);
    this.#waiting.set(organisationId, { at: performance.now(), size, lagMs });
  }

  /** One batch; whether there may be more. */
  async #carry(organisationId: string): Promise<boolean> {
    const { state, owner } = this.#facts;
    const carried = this.#held.get(organisationId) ?? (await this.#claim(organisationId));
    if (carried.seqs.length === 0) return false;
    this.#held.set(organisationId, carried);
    await this.#append(carried);
    await state.acknowledgeJournal(organisationId, { consumer: owner, seqs: carried.seqs });
    this.#held.delete(organisationId);
    return carried.seqs.length === BATCH;
  }

  /** What the store takes; an entry that it refuses for good holds up no other. */
  async #append(carried: Carried): Promise<void> {
    const { entries } = carried;
    while (carried.stored < entries.length) {
      const waiting = entries.slice(carried.stored);
      try {
        await this.#slices.append(waiting, (count) => {
          carried.stored += count;
        });
      } catch (error) {
        if (toGatewayError(error).reason === 'store_unavailable') throw error;
        await this.#appendEach(carried);
      }
    }
  }

  /** One by one, up to and with the first that is refused. */
  async #appendEach(carried: Carried): Promise<void> {
    const { store, onTrouble } = this.#facts;
    for (const entry of carried.entries.slice(carried.stored)) {
      let refused = false;
      try {
        await store.append([entry]);
      } catch (error) {
        if (toGatewayError(error).reason === 'store_unavailable') throw error;
        refused = true;
        onTrouble(error, `the request log refuses the entry ${entry.id}`);
      }
      carried.stored++;
      if (refused) return;
    }
  }

  async #claim(organisationId: string): Promise<Carried> {
    const { state, owner } = this.#facts;
    const claimed = await state.claimJournal(organisationId, {
      consumer: owner,
      leaseMs: LEASE_MS,
      max: BATCH,
    });
    return {
      entries: claimed.map(({ data }) => JSON.parse(data) as RequestRecord),
      seqs: claimed.map(({ seq }) => seq),
      stored: 0,
    };
  }
}
