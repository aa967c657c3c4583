// TailLogs: entries as they are made.
import { create } from '@bufbuild/protobuf';
import { type LogTail, LogTailSchema, type TailLogsRequest } from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Call } from '../../call/call.ts';
import type { Principal } from '../../call/principal.ts';
import type { RequestRecord } from '../../call/record.ts';
import type { LiveEntries } from '../../ledger/live-entries.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { matchesLog } from '../../store/log/matches.ts';
import type { LogStore } from '../../store/log-store.ts';
import { asked } from '../analytics/selection.ts';
import { callerOf } from '../kit/caller.ts';
import { optionalTime } from '../kit/time.ts';
import { type LogFilterDeps, type LogSelection, logSelection } from './filter.ts';
import { sharedEntry, sharedRow } from './row.ts';

export interface TailDeps extends LogFilterDeps {
  readonly store: Pick<LogStore, 'page'>;
  readonly flush: () => Promise<void>;
  readonly live: LiveEntries;
  /** Whether the key or session still counts; undefined: it is stored nowhere. */
  readonly stillCalls: (principal: Principal) => boolean | undefined;
  /** Whether other instances write into the same log. */
  readonly isShared: boolean;
}

/** Of one organisation in one process. */
const MOST_READERS = 50;
/** Entries that wait for a slow caller. */
const MOST_WAITING = 200;
/** Entries of one message: more are made than people read. */
const MOST_AT_ONCE = 100;
/** Entries are told together. */
const TOGETHER_MS = 100;
const ALIVE_MS = 10_000;
/** Whether the caller still counts. */
const LOOK_MS = 500;
const POLL_MS = 1000;
/** How far back entries of other instances are looked for: they come when their calls end. */
const LOOK_BACK_MS = 60_000;
const FURTHEST_MS = 3_600_000;
const MOST_EARLIER = 500;

/** @throws GatewayError validation_failed, rate_limited */
export async function tailLogs(
  deps: TailDeps,
  request: TailLogsRequest,
  call: Call,
): Promise<AsyncIterable<LogTail>> {
  const principal = callerOf(call);
  const { organisationId } = principal;
  const selection = await logSelection(deps, principal, request);
  const since = optionalTime('since', request.since);
  if (since !== undefined && deps.now() - since > FURTHEST_MS)
    throw invalidField('since', 'must be at most an hour ago');
  if (deps.live.readersOf(organisationId) >= MOST_READERS)
    throw fail('rate_limited', `${MOST_READERS} callers read along already`, { retryAfterMs: 5000 });
  const tail = followed(deps, selection, request.asRows, since, call);
  const first = await tail.next();
  return (async function* () {
    if (first.done) return;
    yield first.value;
    yield* tail;
  })();
}

async function* followed(
  deps: TailDeps,
  selection: LogSelection,
  asRows: boolean,
  since: number | undefined,
  call: Call,
): AsyncGenerator<LogTail> {
  const principal = callerOf(call);
  const waiting = new Waiting();
  const isMeant = meant(selection);
  const end = deps.live.follow(principal.organisationId, {
    entry: (entry) => {
      if (isMeant(entry)) waiting.put(entry);
    },
    over: () => waiting.close(),
  });
  const poll = deps.isShared
    ? setInterval(() => void readOthers(deps, selection, waiting), POLL_MS)
    : undefined;
  call.signal.addEventListener('abort', waiting.wake);
  try {
    if (since !== undefined) await readSince(deps, selection, since, waiting);
    let sentAt = 0;
    while (!(call.signal.aborted || waiting.isOver || deps.stillCalls(principal) === false)) {
      const { entries, skipped } = waiting.take();
      if (entries.length > 0 || skipped > 0 || performance.now() - sentAt >= ALIVE_MS || sentAt === 0) {
        sentAt = performance.now();
        yield create(LogTailSchema, {
          ...(asRows ? { rows: entries.map(sharedRow) } : { data: entries.map(sharedEntry) }),
          skipped: BigInt(skipped),
        });
      }
      await waiting.more(LOOK_MS);
    }
  } finally {
    clearInterval(poll);
    call.signal.removeEventListener('abort', waiting.wake);
    end();
    waiting.wake();
  }
}

function meant({ scope: { workspaceId }, filter }: LogSelection): (entry: RequestRecord) => boolean {
  const isWhole = Object.values(filter).every((condition) => condition === undefined);
  return (entry) =>
    (workspaceId === undefined || entry.workspaceId === workspaceId) &&
    (isWhole || matchesLog(filter, entry));
}

/** What is in the log already, from a time on, oldest first. */
async function readSince(
  { store, flush }: TailDeps,
  { scope, filter }: LogSelection,
  since: number,
  waiting: Waiting,
): Promise<void> {
  await flush();
  const found: RequestRecord[] = [];
  let after: string | undefined;
  do {
    const place = { page: 0, pageSize: MOST_AT_ONCE, order: 'desc' as const, ...(after && { after }) };
    const page = await asked(store.page(scope, { ...filter, from: since }, place));
    found.push(...page.entries);
    after = page.next;
  } while (after !== undefined && found.length < MOST_EARLIER);
  waiting.earlier(found.reverse(), after !== undefined);
}

async function readOthers(deps: TailDeps, { scope, filter }: LogSelection, waiting: Waiting): Promise<void> {
  try {
    const from = Math.max(waiting.began, deps.now() - LOOK_BACK_MS);
    const place = { page: 0, pageSize: MOST_AT_ONCE, order: 'desc' as const };
    const { entries } = await deps.store.page(scope, { ...filter, from }, place);
    for (const entry of entries.toReversed()) waiting.put(entry);
  } catch {
    // The store is away: the next look finds them.
  }
}

/** Entries for one caller, each once. */
class Waiting {
  readonly began = Date.now();
  readonly #told = new Set<string>();
  #queue: RequestRecord[] = [];
  #skipped = 0;
  #wake: (() => void) | undefined;
  readonly wake = (): void => this.#wake?.();

  isOver = false;

  /** The gateway stops. */
  close(): void {
    this.isOver = true;
    this.wake();
  }

  put(entry: RequestRecord): void {
    if (this.#told.has(entry.id)) return;
    this.#note(entry.id);
    if (this.#queue.length >= MOST_WAITING) {
      this.#queue.shift();
      this.#skipped++;
    }
    this.#queue.push(entry);
    this.wake();
  }

  earlier(entries: readonly RequestRecord[], more: boolean): void {
    const known = new Set(this.#queue.map(({ id }) => id));
    for (const { id } of entries) this.#note(id);
    this.#queue = [...entries.filter(({ id }) => !known.has(id)), ...this.#queue];
    if (more) this.#skipped++;
  }

  /** The newest that wait; what is beyond counts as skipped. */
  take(): { readonly entries: readonly RequestRecord[]; readonly skipped: number } {
    const over = Math.max(0, this.#queue.length - MOST_EARLIER);
    const entries = this.#queue.slice(over);
    const skipped = this.#skipped + over;
    this.#queue = [];
    this.#skipped = 0;
    return { entries, skipped };
  }

  /** Resolves a moment after there is an entry, at once when the caller leaves, and after a time in any case. */
  async more(ms: number): Promise<void> {
    if (this.#queue.length === 0) await this.#woken(ms);
    await this.#woken(TOGETHER_MS, true);
  }

  #woken(ms: number, quiet = false): Promise<void> {
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
      const timer = setTimeout(done, ms);
      if (!quiet) this.#wake = done;
    });
  }

  #note(id: string): void {
    if (this.#told.size >= 20_000) this.#told.clear();
    this.#told.add(id);
  }
}
