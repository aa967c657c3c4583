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
import { otherInstances } from './other-instances.ts';
import { sharedEntry, sharedRow } from './row.ts';
import { WaitingEntries } from './waiting-entries.ts';

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
const ALIVE_MS = 10_000;
/** Whether the caller still counts. */
const LOOK_MS = 500;
const POLL_MS = 1000;
const FURTHEST_MS = 3_600_000;
const PAGE = 500;
/** Entries from before that are told at the most. */
const MOST_EARLIER = 5000;

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
    throw fail('rate_limited', `${MOST_READERS} callers follow the log already: try again later`, {
      retryAfterMs: 5000,
    });
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
  const waiting = new WaitingEntries();
  const isMeant = meant(selection);
  const end = deps.live.follow(principal.organisationId, {
    entry: (entry) => {
      if (isMeant(entry)) waiting.put(entry);
    },
    over: () => waiting.close(),
  });
  const poll = deps.isShared ? setInterval(otherInstances(deps, selection, waiting), POLL_MS) : undefined;
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
  waiting: WaitingEntries,
): Promise<void> {
  await flush();
  const found: RequestRecord[] = [];
  let after: string | undefined;
  do {
    const place = { page: 0, pageSize: PAGE, order: 'desc' as const, count: false as const };
    const page = await asked(
      store.page(scope, { ...filter, from: since }, after === undefined ? place : { ...place, after }),
    );
    found.push(...page.entries);
    after = page.next;
  } while (after !== undefined && found.length < MOST_EARLIER);
  waiting.earlier(found.reverse());
  if (after === undefined) return;
  const all = await asked(
    store.page(scope, { ...filter, from: since }, { page: 0, pageSize: 1, order: 'desc' }),
  );
  waiting.skip(Math.max(1, all.total - found.length));
}
