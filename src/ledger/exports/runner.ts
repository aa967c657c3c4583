// Runs exports in the background: one instance runs each, and another takes over when it is gone. When there are more
// exports than run at once they take turns, so that no export waits for the end of another.
import { randomUUID } from 'node:crypto';
import { GatewayError } from '../../lib/errors.ts';
import type { BlobStore } from '../../store/blobs.ts';
import type { ChangeFeed } from '../../store/change-feed.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { follow } from '../../store/follow.ts';
import type { LogStore } from '../../store/log-store.ts';
import { Replica } from '../../store/replica.ts';
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
/** The interval at which due exports are looked for. */
const LOOK_MS = 1000;
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
export async function runExports(deps: RunnerDeps): Promise<ExportRunner> {
  const { documents, blobs, now, onTrouble, alone, sliceMs = SLICE_MS } = deps;
  const owner = randomUUID();
  /** Exports with work left, by id. */
  const open = new Map<string, Known>();
  const running = new Map<string, Promise<void>>();
  /** When failed exports are tried again. */
  const resting = new Map<string, number>();
  /** The last slice that each organisation had: the one that waits longest is next, whatever the number of exports. */
  const served = new Map<string, number>();
  /** When the exports of one organisation last had a turn. */
  const had = new Map<string, number>();
  let slices = 0;
  /** Exports that yielded to others, with their turns: what they wrote is kept, and they continue after it. */
  const yielded = new Map<string, number>();
  const stopping = new AbortController();

  function take(known: Known): void {
    const { status, run, discard } = known.body;
    if (known.status === 'active' && (status === 'in_progress' || isKept(run) || discard !== undefined))
      open.set(known.id, known);
    else {
      open.delete(known.id);
      for (const notes of [resting, had, yielded]) notes.delete(known.id);
    }
    if (status === 'in_progress') look();
  }

  function look(): void {
    if (stopping.signal.aborted) return;
    while (running.size < AT_ONCE) {
      const known = next();
      if (known === undefined) return;
      served.set(known.organisationId, ++slices);
      had.set(known.id, slices);
      const work = turn(known)
        .then(
          () => {},
          (error: unknown) => {
            resting.set(known.id, now() + REST_MS);
            onTrouble(error, 'an export of the request log could not go on yet');
          },
        )
        .then(() => {
          running.delete(known.id);
          look();
        });
      running.set(known.id, work);
    }
  }

  function next(): Known | undefined {
    let first: Known | undefined;
    for (const known of open.values()) {
      if (running.has(known.id) || !isDue(known)) continue;
      if (first === undefined || isBefore(known, first)) first = known;
    }
    return first;
  }

  function isBefore(one: Known, other: Known): boolean {
    const [mine, theirs] = [served.get(one.organisationId) ?? 0, served.get(other.organisationId) ?? 0];
    return mine === theirs ? (had.get(one.id) ?? 0) < (had.get(other.id) ?? 0) : mine < theirs;
  }

  function isDue({ id, updatedAt, body: { status, run, discard } }: Known): boolean {
    if ((resting.get(id) ?? 0) > now()) return false;
    if (discard !== undefined) return true;
    if (status !== 'in_progress') return isKept(run) && updatedAt + FILE_MS <= now();
    const lease = run?.lease;
    // Owned by this instance and not running: it failed, and resumes from the last checkpoint.
    return lease === undefined || lease.until <= now() || lease.owner === owner || alone;
  }

  async function turn({ id, organisationId }: Known): Promise<void> {
    // The replica may be older than a write of this instance whose answer was lost.
    const known = await documents.get({ organisationId, workspaceId: undefined }, logExports, id);
    if (known === undefined) {
      open.delete(id);
      return;
    }
    open.set(id, known);
    if (!isDue(known)) return take(known);
    if (known.body.discard !== undefined) return clear(known);
    if (known.body.status !== 'in_progress') return forget(known);
    const claimed = await claim(known);
    if (claimed === undefined) resting.set(id, now() + REST_MS);
    else await write(claimed);
  }

  /** Deletes output that is not read any more, then its names. */
  async function clear({ id, organisationId, body }: Known): Promise<void> {
    const { discard = 0, cleared = 0 } = body;
    for (let turn = cleared + 1; turn <= discard; turn++) await blobs.remove(partName(id, turn));
    await change(organisationId, id, ({ discard: asked = 0, ...rest }) => ({
      ...rest,
      ...(asked > discard ? { discard: asked } : {}),
      cleared: discard,
    }));
  }

  /** Deletes a file whose retention is over; starting an export that was not finished starts it anew. */
  async function forget({ id, organisationId }: Known): Promise<void> {
    await change(organisationId, id, (body) => {
      if (body.status === 'in_progress' || body.run === undefined) return undefined;
      const { run, ...rest } = body;
      const gone = { ...rest, discard: body.turns };
      return body.status === 'success' ? { ...gone, run: { ...run, parts: [] } } : gone;
    });
  }

  /** Takes the lease; undefined when another instance was faster. */
  async function claim(known: Known): Promise<Known | undefined> {
    const { run, turns } = known.body;
    if (run === undefined) return undefined;
    // Documents may have been copied from a store whose bytes were not.
    const whole = await isThere(blobs, run);
    const goesOn = whole && run.lease?.owner === owner && yielded.get(known.id) === turns;
    yielded.delete(known.id);
    const body = {
      ...known.body,
      turns: goesOn ? turns : turns + 1,
      run: { ...(whole ? run : anew(run)), lease: lease() },
    };
    try {
      return await update(known, body);
    } catch (error) {
      if (error instanceof GatewayError && ['version_conflict', 'not_found'].includes(error.reason))
        return undefined;
      throw error;
    }
  }

  async function write({ id, organisationId, workspaceId, body }: Known): Promise<void> {
    const { run, turns } = body;
    if (run === undefined) return;
    const scope = { organisationId, workspaceId };
    const ours = (stored: LogExportBody): boolean =>
      stored.status === 'in_progress' && stored.turns === turns;
    let over = false;
    const keep = async (stand: ExportRun): Promise<boolean> => {
      const { lease: _, ...rest } = stand;
      over = stand.endedAt !== undefined;
      const next: ExportRun = over || stopping.signal.aborted ? rest : { ...rest, lease: lease() };
      return change(organisationId, id, (stored) =>
        ours(stored) ? { ...stored, run: next, status: over ? 'success' : 'in_progress' } : undefined,
      );
    };
    const until = performance.now() + sliceMs;
    const yields = (): boolean =>
      stopping.signal.aborted || (performance.now() >= until && next() !== undefined);
    try {
      const name = partName(id, turns);
      const kept = await writeExport(deps, scope, run, { name, keep, yields });
      if (kept && !over) yielded.set(id, turns);
    } catch (error) {
      // An unavailable store comes back: then the run resumes from its last checkpoint.
      if (error instanceof GatewayError && error.reason === 'store_unavailable') throw error;
      onTrouble(error, 'an export of the request log failed');
      const why = error instanceof GatewayError ? error.message : 'it could not be written';
      await change(organisationId, id, (stored) => {
        if (!ours(stored) || stored.run === undefined) return undefined;
        const { lease: _, ...rest } = stored.run;
        return { ...stored, status: 'failed', run: { ...rest, error: why } };
      });
    }
  }

  /** Changes the document in its newest version; false when `make` wants no change, or it is deleted. */
  async function change(
    organisationId: string,
    id: string,
    make: (body: LogExportBody) => LogExportBody | undefined,
  ): Promise<boolean> {
    const scope = { organisationId, workspaceId: undefined };
    for (let race = 1; ; race++) {
      const stored = await documents.get(scope, logExports, id);
      const body = stored && make(stored.body);
      if (stored === undefined || body === undefined) return false;
      try {
        await update(stored, body);
        return true;
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  function update({ id, organisationId, workspaceId, version }: Known, body: LogExportBody): Promise<Known> {
    const scope = { organisationId, workspaceId };
    return documents.update(scope, logExports, id, version, { body, updatedAt: now() });
  }

  function lease() {
    return { owner, until: now() + LEASE_MS };
  }

  const replica = new Replica(logExports, {
    row: () => undefined,
    changed: (_now, _before, document) => take(document),
  });
  const onError = (error: unknown): void =>
    onTrouble(error, 'exports of the request log could not be read yet');
  const { feed, organisations } = deps;
  const unfollow = await follow({ feed, documents, organisations, onError }, [replica]);
  const timer = setInterval(look, LOOK_MS).unref();
  look();

  return {
    async close() {
      stopping.abort();
      clearInterval(timer);
      unfollow();
      let late: NodeJS.Timeout | undefined;
      const waited = new Promise<void>((resolve) => {
        late = setTimeout(resolve, CLOSE_MS);
      });
      await Promise.race([Promise.all(running.values()), waited]);
      clearTimeout(late);
    },
  };
}

/** Whether its bytes exist. */
function isKept(run: ExportRun | undefined): boolean {
  return run !== undefined && run.parts.length > 0;
}

/** From the begin. */
function anew({ next: _, ...run }: ExportRun): ExportRun {
  return { ...run, passed: 0, rows: 0, bytes: 0, parts: [] };
}
