// Runs one batch: its rows as calls, several at once, each answered once. What the output says is what is done: a row
// is over when its line would survive a kill, and only then the next one begins.
import type { FileWriter } from '../files/file-writer.ts';
import type { BatchFault } from './collection.ts';
import { linesOf } from './lines.ts';
import { type BatchLine, type BatchRow, faultAt, RowReader } from './rows.ts';

/** What came of a row's call. */
export interface RowAnswer {
  readonly status: number;
  readonly requestId: string;
  /** JSON text. */
  readonly body: string;
  /** What is wrong with the row itself: nothing was called. */
  readonly fault?: { readonly param: string; readonly message: string };
}

/** Where lines go. */
export interface RowFiles {
  readonly output: FileWriter;
  readonly errors: FileWriter;
}

/** What running takes. */
export interface RunOptions {
  /** Of the batch. */
  readonly id: string;
  readonly endpoint: string;
  readonly input: () => AsyncIterable<Uint8Array>;
  readonly files: RowFiles;
  /** One call. Waits by itself while limits have no room. */
  readonly call: (row: BatchRow) => Promise<RowAnswer>;
  readonly atOnce: number;
  /** Asked before each row: false ends the run. */
  readonly goesOn: () => boolean;
  readonly counts: RowCounts;
}

/** How far a batch has come. */
export interface RowCounts {
  completed: number;
  failed: number;
  /** The first faults of rows. */
  readonly faults: BatchFault[];
}

const MOST_FAULTS = 100;
/** Bytes of the rows that run at once; one row may be longer. */
const MOST_BYTES = 32 * 1024 * 1024;
const ROW_ID = /^\{"id":"batch_req_[^"]*_(\d+)"/;

/** Lines that are answered already, of both files. Each holds the row's line in its id. */
export async function resumed({ output, errors }: RowFiles, counts: RowCounts): Promise<Set<number>> {
  const done = new Set<number>();
  const read = (count: (text: string) => void) => {
    let rest = '';
    return (bytes: Buffer): void => {
      const lines = (rest + bytes.toString('utf8')).split('\n');
      rest = lines.pop() ?? '';
      for (const text of lines) {
        const line = Number(ROW_ID.exec(text)?.[1]);
        if (!Number.isInteger(line) || done.has(line)) continue;
        done.add(line);
        count(text);
      }
    };
  };
  await output.resume(read(() => counts.completed++));
  await errors.resume(read(() => counts.failed++));
  return done;
}

/** @returns whether all rows have their answer */
export async function runRows(options: RunOptions, done: ReadonlySet<number>): Promise<boolean> {
  const { id, endpoint, input, atOnce, goesOn, counts } = options;
  const lines = new CommittedLines(options.files);
  const reader = new RowReader(endpoint);
  const running = new Set<Promise<void>>();
  let trouble: unknown;
  let runningBytes = 0;
  const begin = (line: BatchLine, bytes: number): void => {
    runningBytes += bytes;
    const work = answer(line).catch((error: unknown) => {
      trouble ??= error;
    });
    const ended = work.then(() => {
      runningBytes -= bytes;
      running.delete(ended);
    });
    running.add(ended);
  };
  const hasRoom = (bytes: number): boolean =>
    running.size === 0 || (running.size < atOnce && runningBytes + bytes <= MOST_BYTES);
  const answer = async (line: BatchLine): Promise<void> => {
    const rowId = `batch_req_${id}_${line.line}`;
    if (line.row === undefined) return bad(rowId, line.customId, line.fault);
    const { customId } = line.row;
    const { status, requestId, body, fault } = await options.call(line.row);
    if (fault !== undefined)
      return bad(
        rowId,
        customId,
        faultAt(line.line, fault.param === '' ? 'body' : `body.${fault.param}`, fault.message),
      );
    const head = `{"id":${JSON.stringify(rowId)},"custom_id":${JSON.stringify(customId)}`;
    const text = `${head},"response":{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${body}},"error":null}\n`;
    await lines.add(status < 400, text);
    if (status < 400) counts.completed++;
    else counts.failed++;
  };
  const bad = async (rowId: string, customId: string | null, fault: BatchFault): Promise<void> => {
    await lines.add(
      false,
      `${JSON.stringify({ id: rowId, custom_id: customId, response: null, error: fault })}\n`,
    );
    counts.failed++;
    if (counts.faults.length < MOST_FAULTS) counts.faults.push(fault);
  };
  let whole = true;
  for await (const text of linesOf(input())) {
    const line = reader.read(text);
    if (done.has(line.line)) continue;
    while (!hasRoom(text.bytes)) await Promise.race(running);
    if (trouble !== undefined || !goesOn()) {
      whole = false;
      break;
    }
    begin(line, text.bytes);
  }
  await Promise.all(running);
  if (trouble !== undefined) throw trouble;
  return whole;
}

/** Lines of both files, written together: one write for all that came while the one before was under way. */
class CommittedLines {
  readonly #files: RowFiles;
  #waiting: { readonly good: boolean; readonly text: string }[] = [];
  #next: Promise<void> | undefined;
  #under: Promise<void> = Promise.resolve();

  constructor(files: RowFiles) {
    this.#files = files;
  }

  /** Resolves when a kill would not lose the line. */
  add(good: boolean, text: string): Promise<void> {
    this.#waiting.push({ good, text });
    this.#next ??= this.#under.then(() => {
      this.#next = undefined;
      this.#under = this.#write(this.#waiting.splice(0));
      return this.#under;
    });
    return this.#next;
  }

  async #write(lines: readonly { readonly good: boolean; readonly text: string }[]): Promise<void> {
    const of = (good: boolean): string => lines.map((one) => (one.good === good ? one.text : '')).join('');
    const { output, errors } = this.#files;
    for (const [writer, text] of [
      [output, of(true)],
      [errors, of(false)],
    ] as const) {
      if (text === '') continue;
      await writer.write(Buffer.from(text));
      await writer.flush();
    }
  }
}
