// The journal's reading side: entries that were written with their charges are carried on to the request log.
import { setImmediate } from 'node:timers/promises';
import type { RequestRecord } from '../call/record.ts';
import { toGatewayError } from '../lib/errors.ts';
import { decodeEntry, encodeEntry } from '../store/log/entry-text.ts';
import type { RequestLogStore } from '../store/request-log.ts';
import type { JournalEntry, SharedState } from '../store/shared-state.ts';
import { isLate, type Own, OwnEntries } from './own-entries.ts';
import { SlicedAppend } from './sliced-append.ts';

/** What the journal is read with. */
export interface JournalDeps {
  readonly state: SharedState;
  readonly store: Pick<RequestLogStore, 'append'>;
  /** This process, as the consumer of the entries it carries. */
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
  readonly texts: readonly string[];
  /** By organisation. */
  readonly seqs: ReadonlyMap<string, readonly string[]>;
  /** How many of the entries are stored. */
  stored: number;
}

interface HeldOwn extends Carried {
  readonly oldest: Own;
}

const EVERY_MS = 50;
/** The interval at which the journals of gone processes are looked for. */
const ALL_MS = 5_000;
/** The pause after the store refused a batch. */
const REST_MS = 1000;
const LEASE_MS = 15_000;
const BATCH = 500;
/** The interval at which an organisation's journal is measured while it is not empty. */
const MEASURE_MS = 2000;
/** Longest entry that the journal takes, in UTF-16 units. */
const LONGEST = 1_000_000;

/** An entry for the journal; undefined when it is too long for it. @param data its text, where it is written already */
export function journalEntry(record: RequestRecord, data = encodeEntry(record)): JournalEntry | undefined {
  return data.length > LONGEST ? undefined : { id: record.id, data };
}

/** Carries entries on, at least once: the log keeps each once, by organisation, time and id. */
export class Journal {
  readonly #deps: JournalDeps;
  readonly #slices: SlicedAppend;
  /** What this process has written and no reader needs. */
  readonly own: OwnEntries;
  /** Of those, on the way. */
  #ownHeld: HeldOwn | undefined;
  readonly #marked = new Set<string>();
  /** Claimed, and not taken by the store yet. */
  readonly #held = new Map<string, Carried>();
  /** What waits, as last measured; journals without entries are empty. */
  readonly #waiting = new Map<string, Measured>();
  readonly #timers: readonly NodeJS.Timeout[];
  #restUntil = 0;
  /** Entries of earlier processes are measured, even while none of them can be claimed yet. */
  #first = true;
  #measuring = false;
  #turn: Promise<void> | undefined;

  constructor(deps: JournalDeps) {
    this.#deps = deps;
    this.own = new OwnEntries(deps.owner);
    this.#slices = new SlicedAppend(deps.store, BATCH);
    this.#timers = [
      setInterval(() => {
        if (this.#hasWork() && performance.now() >= this.#restUntil) void this.turn();
      }, EVERY_MS).unref(),
      setInterval(() => this.#markAll(), ALL_MS).unref(),
      setInterval(() => void this.#remind(), MEASURE_MS / 2).unref(),
    ];
    this.#markAll();
  }

  /** As measured within the last seconds. */
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

  /** Carries the present entries. Never rejects: entries that the stores do not take are retried. */
  turn(): Promise<void> {
    this.#turn ??= this.#run().finally(() => {
      this.#turn = undefined;
    });
    return this.#turn;
  }

  /** Resolves when entries marked before are carried, or could not be. */
  async flush(): Promise<void> {
    await this.#turn;
    if (this.#hasWork()) await this.turn();
  }

  async close(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await this.flush();
  }

  #hasWork(): boolean {
    return this.#marked.size > 0 || this.own.size > 0 || this.#ownHeld !== undefined;
  }

  #markAll(): void {
    for (const id of this.#deps.organisations()) this.#marked.add(id);
  }

  async #run(): Promise<void> {
    try {
      while (await this.#carryOwn()) await setImmediate();
    } catch (error) {
      this.#rest(error);
      return;
    }
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
        await this.#measure(organisationId).catch(() => undefined);
        this.#rest(error);
        return;
      }
    }
    this.#first = false;
  }

  #rest(error: unknown): void {
    this.#restUntil = performance.now() + REST_MS;
    this.#deps.onTrouble(error, 'entries of the journal could not be carried on yet');
  }

  /** Entries that wait although none can be claimed are claimed by another process: its lease must expire first. */
  async #remind(): Promise<void> {
    for (const [organisationId, { at, size }] of this.#waiting) {
      if (size > 0) this.#marked.add(organisationId);
      else if (performance.now() - at > MEASURE_MS) this.#waiting.delete(organisationId);
    }
    // While a turn waits for the log store.
    if (this.#turn === undefined || this.#measuring) return;
    this.#measuring = true;
    try {
      const own = [...this.own.organisations(), ...(this.#ownHeld?.seqs.keys() ?? [])];
      for (const organisationId of new Set([...this.#held.keys(), ...this.#marked, ...own]))
        await this.#measure(organisationId);
    } catch {
      // The shared store is away as well: the state is unknown.
    } finally {
      this.#measuring = false;
    }
  }

  async #measure(organisationId: string): Promise<void> {
    const before = this.#waiting.get(organisationId);
    if (before !== undefined && performance.now() - before.at < MEASURE_MS) return;
    const { size, lagMs } = await this.#deps.state.readJournal(organisationId);
    this.#waiting.set(organisationId, { at: performance.now(), size, lagMs });
  }

  /** One batch of the entries that this process has written; whether there may be more. */
  async #carryOwn(): Promise<boolean> {
    if (this.#ownHeld && isLate(this.#ownHeld.oldest)) {
      this.#leave(this.#ownHeld.seqs.keys());
      this.#ownHeld = undefined;
    }
    const carried = this.#ownHeld ?? this.#takeOwn();
    if (carried === undefined) return false;
    this.#ownHeld = carried;
    await this.#append(carried);
    await this.#acknowledge(carried);
    this.#ownHeld = undefined;
    for (const organisationId of carried.seqs.keys())
      if (this.#waiting.has(organisationId)) await this.#measure(organisationId);
    return this.own.size > 0;
  }

  #takeOwn(): HeldOwn | undefined {
    const taken = this.own.take(BATCH);
    const late = taken.filter(isLate);
    this.#leave(late.map(({ organisationId }) => organisationId));
    const own = late.length === 0 ? taken : taken.filter((one) => !isLate(one));
    const [oldest] = own;
    if (oldest === undefined) return undefined;
    const seqs = new Map<string, string[]>();
    for (const { organisationId, seq } of own) {
      const known = seqs.get(organisationId);
      if (known) known.push(seq);
      else seqs.set(organisationId, [seq]);
    }
    const [entries, texts] = [own.map(({ entry }) => entry), own.map(({ text }) => text)];
    return { oldest, entries, texts, seqs, stored: 0 };
  }

  /** They stay in the journal, like those of a gone process: the next claim carries them on. */
  #leave(organisationIds: Iterable<string>): void {
    for (const organisationId of organisationIds) this.#marked.add(organisationId);
  }

  /** One batch; whether there may be more. */
  async #carry(organisationId: string): Promise<boolean> {
    const carried = this.#held.get(organisationId) ?? (await this.#claim(organisationId));
    const { length } = carried.entries;
    if (length === 0) return false;
    this.#held.set(organisationId, carried);
    await this.#append(carried);
    await this.#acknowledge(carried);
    this.#held.delete(organisationId);
    return length === BATCH;
  }

  async #acknowledge({ seqs }: Carried): Promise<void> {
    const { state, owner } = this.#deps;
    for (const [organisationId, own] of seqs)
      await state.acknowledgeJournal(organisationId, { consumer: owner, seqs: own });
  }

  /** Appends what the store takes; an entry that it refuses for good holds up no other. */
  async #append(carried: Carried): Promise<void> {
    const { entries, texts } = carried;
    const onStored = (count: number): void => {
      carried.stored += count;
    };
    while (carried.stored < entries.length) {
      const { stored } = carried;
      try {
        await this.#slices.append(entries.slice(stored), onStored, texts.slice(stored));
      } catch (error) {
        if (toGatewayError(error).reason === 'store_unavailable') throw error;
        await this.#appendEach(carried);
      }
    }
  }

  /** One by one, up to and with the first that is refused. */
  async #appendEach(carried: Carried): Promise<void> {
    const { store, onTrouble } = this.#deps;
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
    const { state, owner } = this.#deps;
    const claimed = await state.claimJournal(organisationId, {
      consumer: owner,
      leaseMs: LEASE_MS,
      max: BATCH,
    });
    return {
      entries: claimed.map(({ data }) => decodeEntry(data)),
      texts: claimed.map(({ data }) => data),
      seqs: new Map([[organisationId, claimed.map(({ seq }) => seq)]]),
      stored: 0,
    };
  }
}
