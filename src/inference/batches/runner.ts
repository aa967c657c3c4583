// Runs the gateway's own batches in the background: one instance runs each, and another takes over when it is gone.
import { randomUUID } from 'node:crypto';
import type { KeptCaller } from '../../call/kept-caller.ts';
import { GatewayError } from '../../lib/errors.ts';
import { settledWithin } from '../../lib/settled-within.ts';
import type { ChangeFeed } from '../../store/change-feed.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { followWork, type Turns } from '../../store/follow-work.ts';
import type { FileOwner, OwnFiles, WrittenFile } from '../files/own-files.ts';
import { type BatchBody, batches, isOpen } from './collection.ts';
import { linesOf } from './lines.ts';
import type { OwnBatch } from './own-batches.ts';
import { type BatchRow, RowReader } from './rows.ts';
import { type RowAnswer, type RowCounts, resumed, runRows } from './run-batch.ts';

/** Whose rows, and where they go. */
export interface RowsOf {
  readonly owner: FileOwner;
  readonly batchId: string;
  readonly endpoint: string;
  readonly caller: KeptCaller;
  readonly signal: AbortSignal;
}

/** Money that is held for rows. */
export interface RowHolds {
  /** A row begins: its own call holds its money now. */
  begins(row: BatchRow): Promise<void>;
  release(): Promise<void>;
}

/** What makes rows into calls. */
export interface RowCalls {
  /** One call. Waits while limits have no room. @throws GatewayError unauthenticated when the key does not count any more */
  call(rows: RowsOf, row: BatchRow): Promise<RowAnswer>;
  /** Holds what rows may cost. @throws GatewayError budget_exhausted */
  hold(rows: RowsOf, wanted: AsyncIterable<BatchRow>): Promise<RowHolds>;
}

/** What running takes. */
export interface BatchRunnerDeps {
  readonly feed: ChangeFeed;
  readonly documents: DocumentStore;
  readonly files: OwnFiles;
  readonly calls: RowCalls;
  readonly organisations: () => Iterable<string>;
  /** Rows of one batch at once. */
  readonly atOnce: number;
  /** This process is the only one with the store. */
  readonly alone: boolean;
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly onTrouble: (error: unknown, what: string) => void;
}

const LEASE_MS = 30_000;
/** How often a batch that runs tells how far it is, and reads whether it goes on. */
const TELL_MS = 1000;
const REST_MS = 2000;
const AT_ONCE = 8;
const MAX_ROWS = 50_000;
const CLOSE_MS = 5000;
const RACES = 8;

/** A batch whose rows run. */
interface RunningBatch {
  readonly claimed: OwnBatch;
  readonly rows: RowsOf;
  readonly counts: RowCounts;
  readonly total: number;
  readonly done: ReadonlySet<number>;
  readonly read: () => AsyncIterable<Uint8Array>;
  readonly over: AbortController;
  readonly holds: RowHolds;
  readonly output: WrittenFile;
  readonly errors: WrittenFile;
}

/** Runs batches until it is closed. @throws GatewayError store_unavailable */
export function runBatches(deps: BatchRunnerDeps): Promise<{ close(): Promise<void> }> {
  return followWork(deps, batches, new BatchTurns(deps), 'batches could not be read yet');
}

/** The batches that are not done, and the turns that run their rows. */
class BatchTurns implements Turns<BatchBody> {
  readonly #deps: BatchRunnerDeps;
  readonly #documents: BatchRunnerDeps['documents'];
  readonly #files: BatchRunnerDeps['files'];
  readonly #calls: BatchRunnerDeps['calls'];
  readonly #now: BatchRunnerDeps['now'];
  readonly #alone: boolean;
  readonly #onTrouble: BatchRunnerDeps['onTrouble'];
  readonly #instance = randomUUID();
  readonly #open = new Map<string, OwnBatch>();
  readonly #running = new Map<string, Promise<void>>();
  /** When failed batches are tried again. */
  readonly #resting = new Map<string, number>();
  readonly #stopping = new AbortController();

  constructor(deps: BatchRunnerDeps) {
    this.#deps = deps;
    this.#documents = deps.documents;
    this.#files = deps.files;
    this.#calls = deps.calls;
    this.#now = deps.now;
    this.#alone = deps.alone;
    this.#onTrouble = deps.onTrouble;
  }

  /** Notes a batch as it is now. */
  take(document: OwnBatch): void {
    if (document.status === 'active' && isOpen(document.body)) this.#open.set(document.id, document);
    else this.#open.delete(document.id);
    this.look();
  }

  /** Ends the turns that run; waits a few seconds for them. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await settledWithin(this.#running.values(), CLOSE_MS);
  }

  /** Gives turns to batches that are due. */
  look(): void {
    if (this.#stopping.signal.aborted) return;
    for (const batch of this.#open.values()) {
      if (this.#running.size >= AT_ONCE) return;
      if (
        this.#running.has(batch.id) ||
        (this.#resting.get(batch.id) ?? 0) > this.#now() ||
        !this.#isDue(batch)
      )
        continue;
      const work = this.#turn(batch)
        .catch((error: unknown) => {
          this.#resting.set(batch.id, this.#now() + REST_MS);
          this.#onTrouble(error, 'a batch could not go on yet');
        })
        .finally(() => {
          this.#running.delete(batch.id);
        });
      this.#running.set(batch.id, work);
    }
  }

  #isDue({ body: { lease } }: OwnBatch): boolean {
    return lease === undefined || lease.until <= this.#now() || lease.owner === this.#instance || this.#alone;
  }

  #leased(): { lease: { owner: string; until: number } } {
    return { lease: { owner: this.#instance, until: this.#now() + LEASE_MS } };
  }

  /** Changes the batch in its newest version. Undefined: it is gone, or another instance has it. */
  async #change(
    { id, organisationId, workspaceId }: OwnBatch,
    make: (body: BatchBody) => BatchBody,
  ): Promise<OwnBatch | undefined> {
    const scope = { organisationId, workspaceId };
    for (let race = 1; ; race++) {
      const found = await this.#documents.get(scope, batches, id);
      if (found === undefined || !isOpen(found.body) || !this.#isDue(found)) return undefined;
      try {
        const body = make(found.body);
        return await this.#documents.update(scope, batches, id, found.version, {
          body,
          updatedAt: this.#now(),
        });
      } catch (error) {
        const lost = error instanceof GatewayError && error.reason === 'version_conflict';
        if (!lost || race === RACES) throw error;
      }
    }
  }

  async #turn(known: OwnBatch): Promise<void> {
    const owner = { organisationId: known.organisationId, workspaceId: known.workspaceId! };
    const claimed = await this.#change(known, (body) => ({ ...body, ...this.#leased() }));
    if (claimed === undefined) return void this.#open.delete(known.id);
    const { endpoint, inputFileId, caller } = claimed.body;
    const { id } = claimed;
    const over = new AbortController();
    const stop = (): void => over.abort();
    this.#stopping.signal.addEventListener('abort', stop);
    const rows: RowsOf = { owner, batchId: id, endpoint, caller, signal: over.signal };
    const counts: RowCounts = { completed: 0, failed: 0, faults: [] };
    const input = await this.#files.get(owner, inputFileId);
    if (input === undefined)
      return this.#end(claimed, counts, 'failed', 'the input file is gone', 'input_file_gone');
    let total = 0;
    const read = () => this.#files.read(input);
    for await (const _ of linesOf(read())) total++;
    if (total === 0) return this.#end(claimed, counts, 'failed', 'the input file has no rows', 'empty_file');
    if (total > MAX_ROWS)
      return this.#end(
        claimed,
        counts,
        'failed',
        `the input file has ${total} rows; it may have ${MAX_ROWS}`,
        'too_many_rows',
      );
    const output = await this.#files.openWritten(
      owner,
      claimed.body.outputFileId,
      id,
      `${id}_output.jsonl`,
      claimed.body.outputExpiresMs,
    );
    const errors = await this.#files.openWritten(
      owner,
      claimed.body.errorFileId,
      id,
      `${id}_error.jsonl`,
      claimed.body.outputExpiresMs,
    );
    const named = await this.#change(claimed, (body) => ({
      ...body,
      ...this.#leased(),
      outputFileId: output.id,
      errorFileId: errors.id,
      counts: { ...body.counts, total },
    }));
    if (named === undefined) return;
    const done = await resumed({ output: output.writer, errors: errors.writer }, counts);
    const wanted = async function* (): AsyncGenerator<BatchRow> {
      const reader = new RowReader(endpoint);
      for await (const text of linesOf(read())) {
        const { line, row } = reader.read(text);
        if (row !== undefined && !done.has(line)) yield row;
      }
    };
    let holds: RowHolds;
    try {
      holds = await this.#calls.hold(rows, wanted());
    } catch (error) {
      if (!(error instanceof GatewayError) || error.reason !== 'budget_exhausted') throw error;
      await output.drop();
      await errors.drop();
      return this.#end(claimed, counts, 'failed', error.message, 'budget_exhausted', true);
    }
    await this.#run({ claimed, rows, counts, total, done, read, over, holds, output, errors });
    this.#stopping.signal.removeEventListener('abort', stop);
  }

  /** Runs the rows that are left, and tells how far it is while they run. */
  async #run(going: RunningBatch): Promise<void> {
    const { claimed, rows, counts, total, done, read, over, holds, output, errors } = going;
    const { id } = claimed;
    const { endpoint } = claimed.body;
    let reached: BatchBody['status'] | undefined;
    let lost = false;
    const tell = async (): Promise<void> => {
      const stored = await this.#change(claimed, (body) => ({
        ...body,
        ...this.#leased(),
        status: body.status === 'validating' ? 'in_progress' : body.status,
        ...(body.inProgressAt === undefined ? { inProgressAt: this.#now() } : {}),
        counts: { total, completed: counts.completed, failed: counts.failed },
        faults: merged(body.faults, counts.faults),
      }));
      lost = stored === undefined;
      if (stored?.body.status === 'cancelling') reached = 'cancelled';
      else if (stored !== undefined && stored.body.expiresAt <= this.#now()) reached = 'expired';
      if (lost || reached !== undefined) over.abort();
    };
    await tell();
    let telling = Promise.resolve();
    const timer = setInterval(() => {
      telling = telling
        .then(tell)
        .catch((error: unknown) => this.#onTrouble(error, 'a batch could not tell how far it is'));
    }, TELL_MS);
    let failure: GatewayError | undefined;
    const goesOn = (): boolean => !over.signal.aborted && failure === undefined;
    try {
      const whole = await runRows(
        {
          id,
          endpoint,
          input: read,
          files: { output: output.writer, errors: errors.writer },
          atOnce: this.#deps.atOnce,
          goesOn,
          counts,
          call: async (row) => {
            await holds.begins(row);
            return this.#calls.call(rows, row);
          },
        },
        done,
      ).catch((error: unknown) => {
        if (!(error instanceof GatewayError)) throw error;
        if (over.signal.aborted) return false;
        if (error.reason !== 'unauthenticated' && error.reason !== 'forbidden') throw error;
        failure = error;
        return true;
      });
      if (whole) reached ??= failure === undefined ? 'completed' : 'failed';
    } finally {
      clearInterval(timer);
      await telling;
      await holds.release();
    }
    if (lost) return;
    if (reached === undefined) {
      // Stopped: the next one to look goes on.
      await this.#change(claimed, ({ lease: _, ...body }) => body);
      return;
    }
    await this.#change(claimed, (body) => ({
      ...body,
      ...this.#leased(),
      status: body.status === 'cancelling' ? body.status : 'finalizing',
      finalizingAt: this.#now(),
    }));
    const kept = { output: await output.finish(), errors: await errors.finish() };
    await this.#end(claimed, counts, reached, failure?.message, failure?.reason, false, kept);
  }

  async #end(
    batch: OwnBatch,
    counts: RowCounts,
    status: BatchBody['status'],
    message?: string,
    code = 'failed',
    dropped = false,
    kept?: { readonly output: boolean; readonly errors: boolean },
  ): Promise<void> {
    await this.#change(batch, ({ lease: _, outputFileId, errorFileId, ...body }) => ({
      ...body,
      ...(outputFileId !== undefined && !dropped && kept?.output !== false ? { outputFileId } : {}),
      ...(errorFileId !== undefined && !dropped && kept?.errors !== false ? { errorFileId } : {}),
      status,
      endedAt: this.#now(),
      counts: { ...body.counts, completed: counts.completed, failed: counts.failed },
      faults: [...merged(body.faults, counts.faults), ...(message === undefined ? [] : [{ code, message }])],
      caller: { keyId: body.caller.keyId, headers: {} },
    }));
    this.#open.delete(batch.id);
  }
}

/** Faults of a turn before and of this one, each line once. */
function merged(before: BatchBody['faults'], more: BatchBody['faults']): BatchBody['faults'] {
  const known = new Set(before.map(({ line }) => line));
  return [...before, ...more.filter(({ line }) => !known.has(line))].slice(0, 100);
}
