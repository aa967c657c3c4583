// The journal's reading side: entries that were written with their charges are carried on to the request log.
import { setImmediate } from 'node:timers/promises';
import { toGatewayError } from '../lib/errors.ts';
import type { RequestLogStore, RequestRecord } from '../store/request-log.ts';
import type { JournalEntry, SharedState } from '../store/shared-state.ts';

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

interface Carried {
  readonly entries: readonly RequestRecord[];
  readonly seqs: readonly string[];
}

const EVERY_MS = 50;
/** What processes left behind that are gone is looked for so often. */
const ALL_MS = 15_000;
/** After the store refused a batch, until it is tried again. */
const REST_MS = 1000;
const LEASE_MS = 30_000;
const BATCH = 500;
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
  readonly #marked = new Set<string>();
  /** Claimed, and not taken by the store yet. */
  readonly #held = new Map<string, Carried>();
  readonly #timers: readonly NodeJS.Timeout[];
  #restUntil = 0;
  #turn: Promise<void> | undefined;

  constructor(facts: JournalFacts) {
    this.#facts = facts;
    this.#timers = [
      setInterval(() => {
        if (this.#marked.size > 0 && performance.now() >= this.#restUntil) void this.turn();
      }, EVERY_MS).unref(),
      setInterval(() => this.#markAll(), ALL_MS).unref(),
    ];
    this.#markAll();
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
        while (await this.#carry(organisationId)) await setImmediate();
      } catch (error) {
        this.#marked.add(organisationId);
        this.#restUntil = performance.now() + REST_MS;
        this.#facts.onTrouble(error, 'entries of the journal could not be carried on yet');
        return;
      }
    }
  }

  /** One batch; whether there may be more. */
  async #carry(organisationId: string): Promise<boolean> {
    const { state, owner } = this.#facts;
    const carried = this.#held.get(organisationId) ?? (await this.#claim(organisationId));
    if (carried.seqs.length === 0) return false;
    this.#held.set(organisationId, carried);
    await this.#append(carried.entries);
    await state.acknowledgeJournal(organisationId, { consumer: owner, seqs: carried.seqs });
    this.#held.delete(organisationId);
    return carried.seqs.length === BATCH;
  }

  /** What the store takes; an entry that it refuses for good holds up no other. */
  async #append(entries: readonly RequestRecord[]): Promise<void> {
    const { store, onTrouble } = this.#facts;
    try {
      await store.append(entries);
    } catch (error) {
      if (toGatewayError(error).reason === 'store_unavailable') throw error;
      if (entries.length > 1) for (const entry of entries) await this.#append([entry]);
      else onTrouble(error, `the request log refuses the entry ${entries[0]?.id}`);
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
    };
  }
}
