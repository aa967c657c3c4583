// Runs exports in the background: one instance runs each, and another takes over when it is gone. When there are more
// exports than run at once they take turns, so that no export waits for the end of another.
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../lib/errors.ts';
import { settledWithin } from '../../lib/settled-within.ts';
import type { BlobStore } from '../../store/blobs.ts';
import type { ChangeFeed } from '../../store/change-feed.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { followWork, type Turns } from '../../store/follow-work.ts';
import type { LogStore } from '../../store/log-store.ts';
import { type ExportRun, type LogExportBody, logExports, partName } from './collection.ts';
import { isThere } from './file.ts';
import { writeExport } from './write.ts';

/** What running takes. */
export interface RunnerDeps {
  readonly feed: ChangeFeed;
  readonly documents: DocumentStore;
  readonly store: LogStore;
  readonly blobs: BlobStore;
  readonly organisations: () => Iterable<string> | Promise<Iterable<string>>;
  /** This process is the only one with the store: a running export with another owner's lease has no owner any more. */
  readonly alone: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
  /** Characters of one write, about. */
  readonly writeLength?: number;
  /** How long one runs while others wait, in milliseconds. */
  readonly sliceMs?: number;
}

/** Runs exports until it is closed. */
export interface ExportRunner {
  /** Writes checkpoints and ends, within seconds. */
  close(): Promise<void>;
}

type Known = Document<LogExportBody>;

/** How long the lease of an export lasts without renewal. */
const LEASE_MS = 30_000;
/** How long a failed export pauses. */
const REST_MS = 2000;
/** Exports of one instance at once. */
const AT_ONCE = 2;
const SLICE_MS = 1000;
const CLOSE_MS = 3000;
/** How long the file of an export that is done is kept. */
export const FILE_MS = 7 * 86_400_000;
const RACES = 5;

/** Resolves when it follows. @throws GatewayError store_unavailable */
export function runExports(deps: RunnerDeps): Promise<ExportRunner> {
  return followWork(
    deps,
    logExports,
    new ExportTurns(deps),
    'exports of the request log could not be read yet',
  );
}

/** The exports that have work left, and whose turn it is. */
class ExportTurns implements Turns<LogExportBody> {
  readonly #deps: RunnerDeps;
  readonly #documents: RunnerDeps['documents'];
  readonly #blobs: RunnerDeps['blobs'];
  readonly #now: RunnerDeps['now'];
  readonly #onTrouble: RunnerDeps['onTrouble'];
  readonly #alone: boolean;
  readonly #sliceMs: number;
  readonly #owner = randomUUID();
  /** Exports with work left, by id. */
  readonly #open = new Map<string, Known>();
  readonly #running = new Map<string, Promise<void>>();
  /** When failed exports are tried again. */
  readonly #resting = new Map<string, number>();
  /** The last slice that each organisation had: the one that waits longest is next, whatever the number of exports. */
  readonly #served = new Map<string, number>();
  /** When the exports of one organisation last had a turn. */
  readonly #had = new Map<string, number>();
  #slices = 0;
  /** Exports that yielded to others, with their turns: what they wrote is kept, and they continue after it. */
  readonly #yielded = new Map<string, number>();
  readonly #stopping = new AbortController();

  constructor(deps: RunnerDeps) {
    this.#deps = deps;
    this.#documents = deps.documents;
    this.#blobs = deps.blobs;
    this.#now = deps.now;
    this.#onTrouble = deps.onTrouble;
    this.#alone = deps.alone;
    this.#sliceMs = deps.sliceMs ?? SLICE_MS;
  }

  /** Ends the turns that run; waits a few seconds for them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await settledWithin(this.#running.values(), CLOSE_MS);
  }

  /** Notes an export as it is now. */
  take(known: Known): void {
    const { status, run, discard } = known.body;
    if (known.status === 'active' && (status === 'in_progress' || isKept(run) || discard !== undefined))
      this.#open.set(known.id, known);
    else {
      this.#open.delete(known.id);
      for (const notes of [this.#resting, this.#had, this.#yielded]) notes.delete(known.id);
    }
    if (status === 'in_progress') this.look();
  }

  /** Gives turns to those that are due. */
  look(): void {
    if (this.#stopping.signal.aborted) return;
    while (this.#running.size < AT_ONCE) {
      const known = this.#next();
      if (known === undefined) return;
      this.#served.set(known.organisationId, ++this.#slices);
      this.#had.set(known.id, this.#slices);
      const work = this.#turn(known)
        .then(
          () => {},
          (error: unknown) => {
            this.#resting.set(known.id, this.#now() + REST_MS);
            this.#onTrouble(error, 'an export of the request log could not go on yet');
          },
        )
        .then(() => {
          this.#running.delete(known.id);
          this.look();
        });
      this.#running.set(known.id, work);
    }
  }

  #next(): Known | undefined {
    let first: Known | undefined;
    for (const known of this.#open.values()) {
      if (this.#running.has(known.id) || !this.#isDue(known)) continue;
      if (first === undefined || this.#isBefore(known, first)) first = known;
    }
    return first;
  }

  #isBefore(one: Known, other: Known): boolean {
    const [mine, theirs] = [
      this.#served.get(one.organisationId) ?? 0,
      this.#served.get(other.organisationId) ?? 0,
    ];
    return mine === theirs ? (this.#had.get(one.id) ?? 0) < (this.#had.get(other.id) ?? 0) : mine < theirs;
  }

  #isDue({ id, updatedAt, body: { status, run, discard } }: Known): boolean {
    if ((this.#resting.get(id) ?? 0) > this.#now()) return false;
    if (discard !== undefined) return true;
    if (status !== 'in_progress') return isKept(run) && updatedAt + FILE_MS <= this.#now();
    const lease = run?.lease;
    // Owned by this instance and not running: it failed, and resumes from the last checkpoint.
    return lease === undefined || lease.until <= this.#now() || lease.owner === this.#owner || this.#alone;
  }

  async #turn({ id, organisationId }: Known): Promise<void> {
    // The replica may be older than a write of this instance whose answer was lost.
    const known = await this.#documents.get({ organisationId, workspaceId: undefined }, logExports, id);
    if (known === undefined) {
      this.#open.delete(id);
      return;
    }
    this.#open.set(id, known);
    if (!this.#isDue(known)) return this.take(known);
    if (known.body.discard !== undefined) return this.#clear(known);
    if (known.body.status !== 'in_progress') return this.#forget(known);
    const claimed = await this.#claim(known);
    if (claimed === undefined) this.#resting.set(id, this.#now() + REST_MS);
    else await this.#write(claimed);
  }

  /** Deletes output that is not read any more, then its names. */
  async #clear({ id, organisationId, body }: Known): Promise<void> {
    const { discard = 0, cleared = 0 } = body;
    for (let turn = cleared + 1; turn <= discard; turn++) await this.#blobs.remove(partName(id, turn));
    await this.#change(organisationId, id, ({ discard: asked = 0, ...rest }) => ({
      ...rest,
      ...(asked > discard ? { discard: asked } : {}),
      cleared: discard,
    }));
  }

  /** Deletes a file whose retention is over; starting an export that was not finished starts it anew. */
  async #forget({ id, organisationId }: Known): Promise<void> {
    await this.#change(organisationId, id, (body) => {
      if (body.status === 'in_progress' || body.run === undefined) return undefined;
      const { run, ...rest } = body;
      const gone = { ...rest, discard: body.turns };
      return body.status === 'success' ? { ...gone, run: { ...run, parts: [] } } : gone;
    });
  }

  /** Takes the lease; undefined when another instance was faster. */
  async #claim(known: Known): Promise<Known | undefined> {
    const { run, turns } = known.body;
    if (run === undefined) return undefined;
    // Documents may have been copied from a store whose bytes were not.
    const whole = await isThere(this.#blobs, run);
    const goesOn = whole && run.lease?.owner === this.#owner && this.#yielded.get(known.id) === turns;
    this.#yielded.delete(known.id);
    const body = {
      ...known.body,
      turns: goesOn ? turns : turns + 1,
      run: { ...(whole ? run : anew(run)), lease: this.#lease() },
    };
    try {
      return await this.#update(known, body);
    } catch (error) {
      if (error instanceof GatewayError && ['version_conflict', 'not_found'].includes(error.reason))
        return undefined;
      throw error;
    }
  }

  async #write({ id, organisationId, workspaceId, body }: Known): Promise<void> {
    const { run, turns } = body;
    if (run === undefined) return;
    const scope = { organisationId, workspaceId };
    const ours = (stored: LogExportBody): boolean =>
      stored.status === 'in_progress' && stored.turns === turns;
    let over = false;
    const keep = async (stand: ExportRun): Promise<boolean> => {
      const { lease: _, ...rest } = stand;
      over = stand.endedAt !== undefined;
      const next: ExportRun =
        over || this.#stopping.signal.aborted ? rest : { ...rest, lease: this.#lease() };
      return this.#change(organisationId, id, (stored) =>
        ours(stored) ? { ...stored, run: next, status: over ? 'success' : 'in_progress' } : undefined,
      );
    };
    const until = performance.now() + this.#sliceMs;
    const yields = (): boolean =>
      this.#stopping.signal.aborted || (performance.now() >= until && this.#next() !== undefined);
    try {
      const name = partName(id, turns);
      const kept = await writeExport(this.#deps, scope, run, { name, keep, yields });
      if (kept && !over) this.#yielded.set(id, turns);
    } catch (error) {
      // An unavailable store comes back: then the run resumes from its last checkpoint.
      if (error instanceof GatewayError && error.reason === 'store_unavailable') throw error;
      this.#onTrouble(error, 'an export of the request log failed');
      const why = error instanceof GatewayError ? error.message : 'it could not be written';
      await this.#change(organisationId, id, (stored) => {
        if (!ours(stored) || stored.run === undefined) return undefined;
        const { lease: _, ...rest } = stored.run;
        return { ...stored, status: 'failed', run: { ...rest, error: why } };
      });
    }
  }

  /** Changes the document in its newest version; false when `make` wants no change, or it is deleted. */
  async #change(
    organisationId: string,
    id: string,
    make: (body: LogExportBody) => LogExportBody | undefined,
  ): Promise<boolean> {
    const scope = { organisationId, workspaceId: undefined };
    for (let race = 1; ; race++) {
      const stored = await this.#documents.get(scope, logExports, id);
      const body = stored && make(stored.body);
      if (stored === undefined || body === undefined) return false;
      try {
        await this.#update(stored, body);
        return true;
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  #update({ id, organisationId, workspaceId, version }: Known, body: LogExportBody): Promise<Known> {
    const scope = { organisationId, workspaceId };
    return this.#documents.update(scope, logExports, id, version, { body, updatedAt: this.#now() });
  }

  #lease() {
    return { owner: this.#owner, until: this.#now() + LEASE_MS };
  }
}

/** Whether its bytes exist. */
function isKept(run: ExportRun | undefined): boolean {
  return run !== undefined && run.parts.length > 0;
}

/** From the begin. */
function anew({ next: _, ...run }: ExportRun): ExportRun {
  return { ...run, passed: 0, rows: 0, bytes: 0, parts: [] };
}
