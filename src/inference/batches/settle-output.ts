// The output of a provider's own batch, booked while it is fetched: row by row, each once, on however many instances and
// however often it is fetched. No piece goes on before the rows that end in it are in the books.
import type { Call } from '../../call/call.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { LineSplitter, type TextLine } from './lines.ts';
import { isOutput, isRow, type OutputRow, outputRow } from './output-rows.ts';
import type { BatchMaker, ProviderBatchBody } from './provider-collection.ts';
import { noteId, type ProviderNotes } from './provider-notes.ts';
import type { RowBooks } from './row-books.ts';

/** What settling takes. */
export interface SettleDeps {
  readonly notes: ProviderNotes;
  readonly books: RowBooks;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Rows that are booked at once. */
const AT_ONCE = 100;
/** Bytes of a long first line that are looked at. */
const GLANCED = 1024 * 1024;
const MAY_BE_OBJECT = /^\s*(?:\{|$)/;
/** Rows after which it is written down how far the books are. */
const NOTED_EVERY = 500;

/** A file of a provider on its way to a caller. */
export interface Fetched {
  readonly call: Call;
  readonly bound: BoundTarget;
  readonly fileId: string;
  /** Where the caller names the batch. */
  readonly batchId?: string;
  /** Of its rows, where the path tells. */
  readonly endpoint?: string;
}

/** A message of an answer of bytes. */
export interface BytePiece {
  readonly kind:
    | { readonly case: 'chunk'; readonly value: Uint8Array }
    | { readonly case: 'head' | undefined; readonly value?: unknown };
}

/** The bytes as they are, with the rows of a batch's output booked. @throws GatewayError store_unavailable */
export async function settled<Piece extends BytePiece>(
  deps: SettleDeps,
  fetched: Fetched,
  open: () => Promise<AsyncIterable<Piece>>,
): Promise<AsyncIterable<Piece>> {
  const note = await deps.notes.get(fetched.call, fetched.bound, 'output', fetched.fileId);
  const answer = await open();
  return note?.body.settling?.done ? answer : tapped(answer, new Settlement(deps, fetched, note?.body));
}

/** The last piece waits until all rows are booked. */
async function* tapped<Piece extends BytePiece>(
  answer: AsyncIterable<Piece>,
  settlement: Settlement,
): AsyncGenerator<Piece> {
  const lines = new LineSplitter();
  let waiting: Piece | undefined;
  for await (const piece of answer) {
    if (piece.kind.case === 'chunk' && settlement.hears) {
      await settlement.take(lines.push(piece.kind.value));
      settlement.glance(lines);
    }
    if (waiting !== undefined) yield waiting;
    waiting = piece;
  }
  if (settlement.hears) {
    await settlement.take(lines.end());
    await settlement.end();
  }
  if (waiting !== undefined) yield waiting;
}

/** Whose rows they are. */
interface Owned {
  readonly at: number;
  readonly again: boolean;
  readonly batchId: string | undefined;
  readonly maker: BatchMaker | undefined;
  readonly endpoint: string | undefined;
  readonly model: string | undefined;
}

/** One output while it passes. */
class Settlement {
  readonly #deps: SettleDeps;
  readonly #fetched: Fetched;
  readonly #id: string;
  #known: ProviderBatchBody | undefined;
  #owned: Owned | undefined;
  /** Rows up to this line are booked. */
  #line = 0;
  #noted = 0;
  #isOutput: boolean | undefined;
  /** Whether its long first line has been looked at, and is likely a row. */
  #isLikely = false;

  constructor(deps: SettleDeps, fetched: Fetched, known: ProviderBatchBody | undefined) {
    this.#deps = deps;
    this.#fetched = fetched;
    this.#known = known;
    this.#id = noteId(fetched.bound, 'output', fetched.fileId);
    if (known !== undefined || fetched.batchId !== undefined) this.#isOutput = true;
  }

  /** False: the file is none that a batch has written. */
  get hears(): boolean {
    return this.#isOutput !== false;
  }

  /**
   * Looks at a first line that has not ended: a file that is no output is not held, however long its lines are. A row names
   * its `custom_id` early; one of a file that no known batch has written is passed over where it does not.
   */
  glance(lines: LineSplitter): void {
    if (this.#isOutput !== undefined || this.#isLikely) return;
    const isObject = MAY_BE_OBJECT.test(lines.start(64).toString('utf8'));
    if (isObject && lines.held < GLANCED) return;
    this.#isLikely = isObject && lines.start(GLANCED).includes('"custom_id"');
    if (this.#isLikely) return;
    this.#isOutput = false;
    lines.clear();
  }

  /** @throws GatewayError store_unavailable */
  async take(lines: AsyncIterable<TextLine>): Promise<void> {
    let rows: OutputRow[] = [];
    for await (const one of lines) {
      this.#isOutput ??= isOutput(one);
      if (!this.#isOutput) return;
      await this.#begun();
      // A row that is too long to be read is paid for all the same.
      if (one.line > this.#line && (one.text === undefined || isRow(one))) rows.push(outputRow(one));
      if (rows.length < AT_ONCE) continue;
      await this.#book(rows);
      rows = [];
    }
    if (rows.length > 0) await this.#book(rows);
    if (this.#line - this.#noted >= NOTED_EVERY) await this.#note(false);
  }

  /** All of it has passed. @throws GatewayError store_unavailable */
  async end(): Promise<void> {
    if (this.#isOutput !== true) return;
    await this.#begun();
    await this.#note(true);
  }

  async #book(rows: readonly OutputRow[]): Promise<void> {
    const owned = await this.#begun();
    const { call, bound } = this.#fetched;
    await this.#deps.books.book({ ...owned, call, bound, id: this.#id, rows });
    this.#line = rows.at(-1)?.line ?? this.#line;
  }

  /** Begins, or goes on where another process or an earlier fetch has stopped. */
  async #begun(): Promise<Owned> {
    if (this.#owned !== undefined) return this.#owned;
    const { notes, now } = this.#deps;
    const { call, bound, batchId } = this.#fetched;
    const begins = { at: now(), line: 0, done: false };
    if (this.#known === undefined) {
      const body: ProviderBatchBody = { kind: 'output', settling: begins };
      const named = batchId === undefined ? body : { ...body, batchId };
      this.#known = (await notes.insert(call, this.#id, named)).body;
    }
    let before = this.#known.settling?.at !== begins.at;
    if (this.#known.settling === undefined) {
      const changed = await notes.change(call, this.#id, (body) =>
        body.settling === undefined ? { ...body, settling: begins } : undefined,
      );
      this.#known = changed?.body ?? this.#known;
      before = this.#known.settling?.at !== begins.at;
    }
    const { at, line } = this.#known.settling ?? begins;
    this.#line = line;
    this.#noted = line;
    const ofBatch = this.#known.batchId ?? batchId;
    const batch = ofBatch === undefined ? undefined : await notes.get(call, bound, 'batch', ofBatch);
    const { maker, endpoint = this.#fetched.endpoint, model } = batch?.body ?? {};
    this.#owned = { at, again: before, batchId: ofBatch, maker, endpoint, model };
    return this.#owned;
  }

  async #note(done: boolean): Promise<void> {
    const line = this.#line;
    this.#noted = line;
    await this.#deps.notes.change(this.#fetched.call, this.#id, (body) => {
      const { settling } = body;
      if (settling === undefined || settling.done) return undefined;
      return { ...body, settling: { ...settling, line: Math.max(line, settling.line), done } };
    });
  }
}
