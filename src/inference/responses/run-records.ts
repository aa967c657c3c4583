// Who makes a response in the background, and until when without a word: one record for each, with a lease. A process
// that is killed lets it expire, and another one takes the response over. What is written is compared with what was read,
// so that of several processes one has it.
import { randomUUID } from 'node:crypto';
import type { Principal } from '../../call/principal.ts';
import type { KeptValues } from '../../store/kept-values.ts';

/** How long a process that says nothing keeps a response, in milliseconds. */
export const LEASE_MS = 15_000;
const PREFIX = 'response-run/';

export type Owner = Pick<Principal, 'organisationId' | 'workspaceId'>;

/** A response that is being made. */
export interface RunRecord {
  /** Of one process's turn; empty: it was given back. */
  readonly holder: string;
  /** End of the lease, in Unix milliseconds. */
  readonly until: number;
  /** When the response was asked for, in Unix milliseconds. */
  readonly since: number;
  /** Turns that have ended without a word. */
  readonly lost: number;
  /** Something of the answer has gone out: it cannot be made again. */
  readonly isAnswered: boolean;
}

/** A record as it was read. */
export interface FoundRun {
  readonly owner: Owner;
  readonly id: string;
  readonly record: RunRecord;
}

/** What keeps records. */
export interface RunRecordsDeps {
  readonly values: KeptValues;
  /** How long a record is kept that no process ends, in milliseconds. */
  readonly keptMs: number;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** The records of all responses that are being made. */
export class RunRecords {
  readonly #deps: RunRecordsDeps;

  constructor(deps: RunRecordsDeps) {
    this.#deps = deps;
  }

  /** Resolves when a kill would not lose the record. @throws GatewayError store_unavailable */
  async begin(owner: Owner, id: string): Promise<RunLease> {
    const since = this.#deps.now();
    const record = { holder: '', until: 0, since, lost: 0, isAnswered: false };
    const lease = new RunLease(this.#deps, keyOf(owner, id), record);
    await lease.write();
    return lease;
  }

  /** Undefined: nothing makes the response. @throws GatewayError store_unavailable */
  async get(owner: Owner, id: string): Promise<FoundRun | undefined> {
    const { values, now } = this.#deps;
    const bytes = await values.get(keyOf(owner, id), now());
    return bytes && { owner, id, record: recordIn(bytes) };
  }

  /** All of them. @throws GatewayError store_unavailable */
  async *all(): AsyncGenerator<FoundRun, void> {
    for (let after = PREFIX; ; ) {
      const rows = await this.#deps.values.list(PREFIX, after);
      const last = rows.at(-1);
      if (last === undefined) return;
      after = last.key;
      for (const { key, value } of rows) {
        const [organisationId = '', workspaceId = '', id = ''] = key.slice(PREFIX.length).split('/');
        yield {
          owner: { organisationId, workspaceId: workspaceId === '' ? undefined : workspaceId },
          id,
          record: recordIn(value),
        };
      }
    }
  }

  /** Undefined: another process was first. @throws GatewayError store_unavailable */
  async take({ owner, id, record }: FoundRun): Promise<RunLease | undefined> {
    const lease = new RunLease(this.#deps, keyOf(owner, id), record);
    const lost = record.lost + (record.holder === '' ? 0 : 1);
    return (await lease.renew({ lost })) ? lease : undefined;
  }
}

/** The right to make one response. */
export class RunLease {
  readonly #deps: RunRecordsDeps;
  readonly #key: string;
  readonly #holder = randomUUID();
  #known: RunRecord;
  #work: Promise<unknown> = Promise.resolve();

  constructor(deps: RunRecordsDeps, key: string, known: RunRecord) {
    this.#deps = deps;
    this.#key = key;
    this.#known = known;
  }

  get record(): RunRecord {
    return this.#known;
  }

  /** The first record. @throws GatewayError store_unavailable */
  async write(): Promise<void> {
    const { values, now, keptMs } = this.#deps;
    this.#known = { ...this.#known, holder: this.#holder, until: now() + LEASE_MS };
    await values.put(this.#key, bytesOf(this.#known), now() + keptMs);
  }

  /** Whether it is still this process's, for so long again. @throws GatewayError store_unavailable */
  renew(change: Partial<RunRecord> = {}): Promise<boolean> {
    return this.#next(() =>
      this.#replace({ ...change, holder: this.#holder, until: this.#deps.now() + LEASE_MS }),
    );
  }

  /** Gives the response back: any process may take it at once. @throws GatewayError store_unavailable */
  leave(): Promise<boolean> {
    return this.#next(() => this.#replace({ holder: '', until: 0 }));
  }

  /** The response is over. @throws GatewayError store_unavailable */
  end(): Promise<boolean> {
    return this.#next(() => this.#deps.values.remove(this.#key));
  }

  #next(step: () => Promise<boolean>): Promise<boolean> {
    const done = this.#work.then(step);
    this.#work = done.catch(() => {});
    return done;
  }

  async #replace(change: Partial<RunRecord>): Promise<boolean> {
    const { values, now, keptMs } = this.#deps;
    for (let again = false; ; again = true) {
      const next = { ...this.#known, ...change };
      if (await values.replace(this.#key, bytesOf(this.#known), bytesOf(next), now() + keptMs)) {
        this.#known = next;
        return true;
      }
      // A write whose answer was lost may have been made.
      const bytes = again ? undefined : await values.get(this.#key, now());
      const found = bytes && recordIn(bytes);
      if (found?.holder !== this.#holder) return false;
      this.#known = found;
    }
  }
}

function bytesOf(record: RunRecord): Uint8Array {
  return Buffer.from(JSON.stringify(record));
}

function recordIn(bytes: Uint8Array): RunRecord {
  return JSON.parse(Buffer.from(bytes).toString('utf8')) as RunRecord;
}

/** Neither an owner's ids nor those of responses that the gateway makes have a slash. */
function keyOf({ organisationId, workspaceId = '' }: Owner, id: string): string {
  return `${PREFIX}${organisationId}/${workspaceId}/${id}`;
}
