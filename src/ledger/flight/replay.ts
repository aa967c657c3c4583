// Replays the journal of a killed process: its entries reach the books, and so do the calls that it did not end.
import { setImmediate } from 'node:timers/promises';
import type { RequestRecord } from '../../call/record.ts';
import type { RequestLogStore } from '../../store/request-log.ts';
import type { SettleRequest, SharedState } from '../../store/shared-state.ts';
import { journalEntry } from '../journal.ts';
import type { PriceList } from '../prices/price-list.ts';
import { SlicedAppend } from '../sliced-append.ts';
import { attemptOrders, chargesOf, entryOfInterrupted } from './interrupted.ts';
import type { LineFile } from './line-file.ts';
import { type CallNote, type EndNote, type Line, readLine } from './lines.ts';

export interface ReplayDeps {
  readonly store: Pick<RequestLogStore, 'append'>;
  readonly state: Pick<SharedState, 'settle' | 'release' | 'readValue' | 'writeValue'>;
  /** Is told where entries wait to be carried on. */
  readonly mark: (organisationId: string) => void;
  readonly prices: PriceList;
  /** The most entries of one append: fewer when an earlier attempt was too slow. */
  readonly slice?: number;
}

/** What was found. */
export interface Replayed {
  readonly entries: number;
  readonly interrupted: number;
}

/** Entries of one append. */
const BATCH = 500;
/** Lines read between two turns of the event loop. */
const SLICE = 500;

/**
 * Brings the lines of a process's files into the books, each call once: the log keeps one entry of an id, and a hold is
 * settled once. @param files oldest first @throws GatewayError store_unavailable; then it may be done again
 */
export async function replay(deps: ReplayDeps, files: readonly LineFile[]): Promise<Replayed> {
  const open = new Map<string, CallNote[]>();
  const waiting: RequestRecord[] = [];
  const log = new SlicedAppend(deps.store, deps.slice ?? BATCH);
  let entries = 0;
  let diedAt = 0;
  for (const file of files) {
    diedAt = Math.max(diedAt, await file.writtenAt());
    for await (const line of linesOf(file)) {
      if (line.kind === 'attempt') {
        note(open, line.note);
        continue;
      }
      if (line.kind === 'release') {
        await deps.state.release(line.organisationId, { id: line.id, refund: true });
        continue;
      }
      const { entry, order } = line.note;
      entries++;
      open.delete(entry.id);
      await settleAttempts(deps, entry);
      if (order) await settle(deps, entry, order);
      else waiting.push(entry);
      if (waiting.length >= BATCH) await log.append(waiting.splice(0));
    }
  }
  let interrupted = 0;
  for (const notes of open.values()) {
    const entry = entryOfInterrupted(notes, Math.round(diedAt), deps.prices);
    if (entry === undefined) continue;
    interrupted++;
    await settleAttempts(deps, entry);
    const held = notes.at(-1)?.held;
    if (held === undefined) waiting.push(entry);
    else await settle(deps, entry, { id: entry.id, charges: chargesOf(entry, held) });
  }
  if (waiting.length > 0) await log.append(waiting);
  return { entries, interrupted };
}

/** Stores the entries of one file that were the log's, each once. */
export async function carryEntries(store: ReplayDeps['store'], file: LineFile): Promise<void> {
  const batch: RequestRecord[] = [];
  const log = new SlicedAppend(store, BATCH);
  for await (const line of linesOf(file)) {
    if (line.kind === 'end' && line.note.order === undefined) batch.push(line.note.entry);
    if (batch.length >= BATCH) await log.append(batch.splice(0));
  }
  if (batch.length > 0) await log.append(batch);
}

/** A line may be there twice: files that are kept for one long call are not. */
function note(open: Map<string, CallNote[]>, found: CallNote): void {
  const notes = open.get(found.call.id);
  if (notes === undefined) open.set(found.call.id, [found]);
  else if (!notes.some(({ attempt }) => attempt.id === found.attempt.id)) notes.push(found);
}

/** Holds of attempts that are settled already stay as they are. */
async function settleAttempts({ state }: ReplayDeps, entry: RequestRecord): Promise<void> {
  for (const order of attemptOrders(entry)) await state.settle(entry.organisationId, order);
}

/** The entry is written in one step with what it is charged; without a hold it is the log's alone. */
async function settle(
  { state, store, mark }: ReplayDeps,
  entry: RequestRecord,
  order: NonNullable<EndNote['order']> | SettleRequest,
): Promise<void> {
  const written = journalEntry(entry);
  const { outcome } = await state.settle(entry.organisationId, {
    ...order,
    ...(written === undefined ? {} : { entry: written }),
  });
  if (outcome === 'settled' && written) mark(entry.organisationId);
  else if (outcome === 'unknown' || (outcome === 'settled' && !written)) await store.append([entry]);
}

async function* linesOf(file: LineFile): AsyncGenerator<Line> {
  const text = await file.text();
  let at = 0;
  for (let count = 1; at < text.length; count++) {
    const end = text.indexOf('\n', at);
    const line = readLine(file.number, text.slice(at, end === -1 ? text.length : end));
    at = end === -1 ? text.length : end + 1;
    if (line !== undefined) yield line;
    if (count % SLICE === 0) await setImmediate();
  }
}
