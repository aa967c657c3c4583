// What a process left behind that was killed: its entries reach the books, and so do the calls that it did not end.
import { readFile, stat } from 'node:fs/promises';
import { setImmediate } from 'node:timers/promises';
import type { RequestLogStore, RequestRecord } from '../../store/request-log.ts';
import type { SettleRequest, SharedState } from '../../store/shared-state.ts';
import { journalEntry } from '../journal.ts';
import type { PriceList } from '../prices/price-list.ts';
import { fileNumber } from './flight-folder.ts';
import { chargesOf, entryOfInterrupted } from './interrupted.ts';
import { type CallNote, type EndNote, joinedEntry, type Line, readLine } from './lines.ts';

export interface ReplayFacts {
  readonly store: Pick<RequestLogStore, 'append'>;
  readonly state: Pick<SharedState, 'settle' | 'release'>;
  /** Is told where entries wait to be carried on. */
  readonly mark: (organisationId: string) => void;
  readonly prices: PriceList;
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
 * Brings what is in a process's files into the books, each call once: the log keeps one entry of an id, and a hold is
 * settled once. @param paths of its files, oldest first @throws GatewayError store_unavailable; then it may be done again
 */
export async function replay(facts: ReplayFacts, paths: readonly string[]): Promise<Replayed> {
  const open = new Map<string, CallNote[]>();
  const waiting: RequestRecord[] = [];
  let entries = 0;
  let diedAt = 0;
  for (const path of paths) {
    diedAt = Math.max(diedAt, (await stat(path)).mtimeMs);
    for await (const line of linesOf(path)) {
      if (line.kind === 'attempt') {
        note(open, line.note);
        continue;
      }
      if (line.kind === 'release') {
        await facts.state.release(line.organisationId, { id: line.id, refund: true });
        continue;
      }
      const ended = endOf(line, open);
      if (ended === undefined) continue;
      const { entry, order } = ended;
      entries++;
      open.delete(entry.id);
      if (order) await settle(facts, entry, order);
      else waiting.push(entry);
      if (waiting.length >= BATCH) await facts.store.append(waiting.splice(0));
    }
  }
  let interrupted = 0;
  for (const notes of open.values()) {
    const entry = entryOfInterrupted(notes, Math.round(diedAt), facts.prices);
    if (entry === undefined) continue;
    interrupted++;
    const held = notes.at(-1)?.held;
    if (held === undefined) waiting.push(entry);
    else await settle(facts, entry, { id: entry.id, charges: chargesOf(entry, held) });
  }
  if (waiting.length > 0) await facts.store.append(waiting);
  return { entries, interrupted };
}

/** Stores the entries of one file that were the log's, each once. */
export async function carryEntries(store: ReplayFacts['store'], path: string): Promise<void> {
  const batch: RequestRecord[] = [];
  const open = new Map<string, CallNote[]>();
  for await (const line of linesOf(path)) {
    if (line.kind === 'attempt') {
      note(open, line.note);
      continue;
    }
    const ended = line.kind === 'release' ? undefined : endOf(line, open);
    if (ended === undefined) continue;
    open.delete(ended.entry.id);
    if (ended.order === undefined) batch.push(ended.entry);
    if (batch.length >= BATCH) await store.append(batch.splice(0));
  }
  if (batch.length > 0) await store.append(batch);
}

/** Undefined: the lines that it goes with are not there, and neither are those of a call that is in the books already. */
function endOf(
  line: Extract<Line, { kind: 'end' | 'rest' }>,
  open: Map<string, CallNote[]>,
): EndNote | undefined {
  if (line.kind === 'end') return line.note;
  const entry = joinedEntry(open.get(line.note.id) ?? [], line.note);
  return entry && { entry, order: line.note.order };
}

/** A line may be there twice: files that are kept for one long call are not. */
function note(open: Map<string, CallNote[]>, found: CallNote): void {
  const notes = open.get(found.call.id);
  if (notes === undefined) open.set(found.call.id, [found]);
  else if (!notes.some(({ attempt }) => attempt.id === found.attempt.id)) notes.push(found);
}

/** The entry is written in one step with what it is charged; without a hold it is the log's alone. */
async function settle(
  { state, store, mark }: ReplayFacts,
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

async function* linesOf(path: string): AsyncGenerator<Line> {
  const file = fileNumber(path);
  const text = await readFile(path, 'utf8');
  let at = 0;
  for (let count = 1; at < text.length; count++) {
    const end = text.indexOf('\n', at);
    const line = readLine(file, text.slice(at, end === -1 ? text.length : end));
    at = end === -1 ? text.length : end + 1;
    if (line !== undefined) yield line;
    if (count % SLICE === 0) await setImmediate();
  }
}
