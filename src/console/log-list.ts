// The entries that the address means: pages of them, and those that are made meanwhile.
import { type Signal, signal } from '@preact/signals';
import { type LogEntry, type LogRow, LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { client, detailOf, notice, reachable, session, wordsOf } from './api.ts';
import { now } from './clock.ts';
import { filtersOf, timesOf } from './log-query.ts';

const PAGE = 100;
/** Entries that are kept where a tail runs: beyond twice as many the oldest go, and are read again when they are scrolled to. */
const KEPT = 5000;
const AGAIN_MS = [500, 1000, 2000, 5000];
/** Entries are looked for again that far back when the stream broke off. */
const BACK_MS = 5000;
/** The gateway sends a message every 10 seconds, also without an entry: a stream that is quiet for longer is dead. */
const QUIET_MS = 25_000;
/** How far back a stream may begin. */
const FURTHEST_MS = 3_500_000;

/** What the list shows of an entry. */
export type Row = Omit<LogRow, '$typeName' | '$unknown'>;

/** What is known of the list. */
export interface LogListState {
  readonly entries: readonly Row[];
  readonly total: number;
  readonly totalCapped: boolean;
  readonly isLoaded: boolean;
  readonly fault: string;
  /** Why no new entries come in. */
  readonly tailFault: string;
  /** Live entries that wait until the reader looks. */
  readonly waiting: readonly Row[];
  readonly skipped: number;
}

const EMPTY: LogListState = {
  entries: [],
  total: 0,
  totalCapped: false,
  isLoaded: false,
  fault: '',
  tailFault: '',
  waiting: [],
  skipped: 0,
};

/** Reads until it is closed. */
export class LogList {
  readonly state: Signal<LogListState> = signal(EMPTY);
  /** Whether rows may come in at the top. */
  isTop = true;
  readonly #params: URLSearchParams;
  readonly #left = new AbortController();
  readonly #ids = new Set<string>();
  #next: string | undefined;
  /** Where the list goes on after it was shortened. */
  #before: string | undefined;
  #isReading = false;
  #readAt = now();

  constructor(params: URLSearchParams) {
    this.#params = params;
    void this.#open();
  }

  close(): void {
    this.#left.abort();
  }

  /** Puts the entries that wait to the others. */
  show(): void {
    const { entries, waiting, total } = this.state.value;
    if (waiting.length === 0) return;
    const all = [...waiting, ...entries];
    this.#set({
      entries: this.#isTail(all) ? this.#shortened(all) : all,
      waiting: [],
      total: total + waiting.length,
    });
  }

  /** Whether the reader only reads along: nothing that is far below is being read. */
  #isTail(entries: readonly Row[]): boolean {
    return this.isTop && entries.length > 2 * KEPT;
  }

  /** The newest ones; what is below them is read again from the time of the last. */
  #shortened(entries: readonly Row[]): readonly Row[] {
    const kept = entries.slice(0, KEPT);
    for (const { id } of entries.slice(KEPT)) this.#ids.delete(id);
    this.#before = kept.at(-1)?.createdAt;
    this.#next = undefined;
    return kept;
  }

  /** The next page within the filter. */
  async more(): Promise<void> {
    if (this.#isReading || this.#left.signal.aborted) return;
    if (this.#next === undefined && this.#before === undefined) return;
    const { length } = this.state.value.entries;
    // A page may hold nothing but entries that are known.
    do await this.#page(this.#next);
    while (this.#isToBeReadOn(length));
  }

  #isToBeReadOn(length: number): boolean {
    const { entries, fault } = this.state.value;
    return (
      this.#next !== undefined && fault === '' && entries.length === length && !this.#left.signal.aborted
    );
  }

  /** Counts to the end, also beyond what is counted by default. @throws ConnectError */
  async countAll(): Promise<void> {
    const request = { ...filtersOf(this.#params), ...timesOf(this.#params), pageSize: 1 };
    const { total, totalCapped } = await client(LogsService).listLogs(
      { ...request, includeTotal: 'exact' },
      { signal: this.#left.signal },
    );
    this.#set({ total: Number(total), totalCapped });
  }

  async #open(): Promise<void> {
    await this.#page(undefined);
    if (this.#params.get('to') === null) await this.#follow();
  }

  async #page(after: string | undefined): Promise<void> {
    this.#isReading = true;
    const before = this.#before;
    try {
      const request = {
        ...filtersOf(this.#params),
        ...timesOf(this.#params),
        ...(before && { timeOfGenerationMax: before }),
        pageSize: PAGE,
      };
      const list = await client(LogsService).listLogs(after === undefined ? request : { ...request, after }, {
        signal: this.#left.signal,
      });
      // The list was shortened meanwhile: this page is no longer the one below it.
      if (this.#before !== before) {
        this.#isReading = false;
        return;
      }
      const fresh = list.data.filter(({ id }) => !this.#ids.has(id)).map(rowOf);
      for (const { id } of fresh) this.#ids.add(id);
      this.#next = list.next;
      // Its cursor goes on within the same time.
      if (list.next === undefined) this.#before = undefined;
      const known = this.state.value;
      this.#set({
        entries: [...known.entries, ...fresh],
        ...(!known.isLoaded ? { total: Number(list.total), totalCapped: list.totalCapped } : {}),
        isLoaded: true,
        fault: '',
      });
    } catch (error) {
      if (!this.#left.signal.aborted) this.#set({ fault: wordsOf(error), isLoaded: true });
    }
    this.#isReading = false;
  }

  /** Reads along; when the gateway is gone it says so and comes back without a gap. */
  async #follow(): Promise<void> {
    for (let tries = 0; session.value !== null; tries++) {
      await inSight(this.#left.signal);
      if (this.#left.signal.aborted) return;
      // A computer that slept for long has a list that the stream cannot join.
      if (this.#readAt < now() - FURTHEST_MS) await this.#restart();
      const quiet = new Watchdog(QUIET_MS);
      const stop = new AbortController();
      const hide = (): void => stop.abort();
      document.addEventListener('visibilitychange', hide, { once: true });
      try {
        const stream = client(LogsService).tailLogs(
          {
            ...filtersOf(this.#params),
            asRows: true,
            since: new Date(this.#readAt - BACK_MS).toISOString(),
          },
          { signal: AbortSignal.any([this.#left.signal, quiet.signal, stop.signal]) },
        );
        for await (const { rows, skipped } of stream) {
          quiet.reset();
          tries = 0;
          reachable.value = true;
          this.#tell('');
          this.#readAt = now();
          this.#take(rows, Number(skipped));
        }
      } catch (error) {
        if (this.#left.signal.aborted) return;
        notice(error);
        if (!stop.signal.aborted && !this.#isWorthAgain(error)) return;
      } finally {
        quiet.stop();
        document.removeEventListener('visibilitychange', hide);
      }
      if (!stop.signal.aborted)
        await pause(AGAIN_MS[Math.min(tries, AGAIN_MS.length - 1)] ?? 5000, this.#left.signal);
    }
  }

  /** Tells why no entries come in. What is wrong with the request does not get better. */
  #isWorthAgain(error: unknown): boolean {
    const status = detailOf(error)?.httpStatus;
    if (status === undefined || status >= 500) reachable.value = false;
    else this.#tell(`New entries do not come in: ${wordsOf(error)}`);
    return status !== 400 && status !== 401 && status !== 403;
  }

  #tell(tailFault: string): void {
    if (this.state.value.tailFault !== tailFault) this.#set({ tailFault });
  }

  /** Reads the list anew. */
  async #restart(): Promise<void> {
    this.#readAt = now();
    this.#ids.clear();
    this.#next = undefined;
    this.#before = undefined;
    this.#set({ ...EMPTY, skipped: this.state.value.skipped });
    await this.#page(undefined);
  }

  #take(rows: readonly Row[], skipped: number): void {
    const fresh = rows.filter(({ id }) => !this.#ids.has(id)).reverse();
    for (const { id } of fresh) this.#ids.add(id);
    if (fresh.length === 0 && skipped === 0) return;
    const { waiting: known, skipped: before } = this.state.value;
    const waiting = [...fresh, ...known];
    // Who reads far below while much happens is told what was left out.
    const over = this.isTop ? 0 : Math.max(0, waiting.length - 2 * KEPT);
    if (over > 0) for (const { id } of waiting.splice(2 * KEPT)) this.#ids.delete(id);
    this.#set({ waiting, skipped: before + skipped + over });
    if (this.isTop) this.show();
  }

  #set(change: Partial<LogListState>): void {
    if (!this.#left.signal.aborted) this.state.value = { ...this.state.value, ...change };
  }
}

/** Aborts a stream when nothing came for a time. */
class Watchdog {
  readonly #quiet = new AbortController();
  readonly #ms: number;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(ms: number) {
    this.#ms = ms;
    this.reset();
  }

  get signal(): AbortSignal {
    return this.#quiet.signal;
  }

  reset(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#quiet.abort(), this.#ms);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }
}

function rowOf({ id, createdAt, statusCode, model, provider, latencyMs, ...more }: LogEntry): Row {
  const { usage, costExact, error } = more;
  return {
    id,
    createdAt,
    statusCode,
    model,
    provider,
    latencyMs,
    ...(usage && { totalTokens: usage.totalTokens }),
    ...(costExact !== undefined && { costExact }),
    ...(error && { errorReason: error.reason }),
  };
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}

/** Ends when the page is in sight, or the signal aborts: a browser has few connections to one gateway, and windows share them. */
function inSight(signal: AbortSignal): Promise<void> {
  if (document.visibilityState === 'visible' || signal.aborted) return Promise.resolve();
  return new Promise((resolve) => {
    const look = (): void => {
      if (document.visibilityState !== 'visible' && !signal.aborted) return;
      document.removeEventListener('visibilitychange', look);
      resolve();
    };
    document.addEventListener('visibilitychange', look);
    signal.addEventListener('abort', look);
  });
}
