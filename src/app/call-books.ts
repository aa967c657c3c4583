// The books of calls as one gateway keeps them: notes of calls in flight, the log's writing side, bodies, prices, and
// the end of what is old.
import type { Logger } from 'pino';
import type { Directory } from '../access/directory.ts';
import { BodyLog } from '../ledger/bodies.ts';
import { Books, type BooksDeps } from '../ledger/books.ts';
import type { InFlightJournal } from '../ledger/flight/in-flight-journal.ts';
import type { ReplayDeps } from '../ledger/flight/replay.ts';
import { type LateHook, lateHookRecord } from '../ledger/late-hooks.ts';
import type { OwnPrices } from '../ledger/prices/own-prices.ts';
import { openPriceList, type PriceList } from '../ledger/prices/price-list.ts';
import { createRequestLog, type RequestLog } from '../ledger/request-log.ts';
import { keepRetention } from '../ledger/retention.ts';
import { createTokenCounter, type TokenCounter } from '../ledger/tokens/counter.ts';
import type { Settings } from '../settings.ts';
import type { LogStore } from '../store/log-store.ts';
import { openOwnFlights } from './flights.ts';
import { within } from './within.ts';

/** How long a start waits for the replay of killed processes' journals; then the replay goes on in the background. */
const REPLAY_MS = 5000;

export interface CallBooks {
  readonly books: Books;
  readonly requestLog: RequestLog;
  readonly bodyLog: BodyLog;
  readonly flights: InFlightJournal | undefined;
  readonly prices: PriceList;
  readonly counter: TokenCounter;
  /** Days that entries of a workspace are kept, when fewer than the gateway's. */
  readonly keepDays: (workspaceId: string | undefined) => number | undefined;
  /** Whether the bodies of a workspace's calls are kept. */
  readonly keepsBodies: (workspaceId: string | undefined) => boolean;
  /** Whether the words of a workspace's errors are kept. */
  readonly keepsWords: (workspaceId: string | undefined) => boolean;
  /** Whether entries keep metadata. */
  readonly keepsMetadata: boolean;
  /** Keeps verdicts that came after their call's entry. */
  readonly keepsLate: (late: LateHook) => void;
  /** Replays the journals of killed processes, now and periodically. */
  follow(deps: Omit<ReplayDeps, 'store' | 'prices'>): Promise<void>;
  /** Makes all bodies taken so far durable. @throws GatewayError store_unavailable */
  flush(): Promise<void>;
  close(): Promise<void>;
}

/** @param parts `onEntry` is called once with each entry */
export async function openCallBooks(
  settings: Settings,
  parts: {
    readonly store: LogStore;
    readonly directory: Directory;
    readonly ownPrices: OwnPrices;
    readonly onEntry: BooksDeps['onEntry'];
  },
  log: Logger,
): Promise<CallBooks> {
  const { store, directory, ownPrices, onEntry } = parts;
  const opened = await openOwnFlights(settings, log);
  const flights = opened?.flights;
  const requestLog = createRequestLog({
    store,
    ...(flights && {
      spill: (position) => flights.spill(position),
      onPassed: (position) => flights.passed(position),
    }),
    onDrop: (count) =>
      log.error({ count }, 'request log: entries were dropped because the store does not take them'),
  });
  const bodyLog = new BodyLog({
    store,
    onTrouble: (error, count) => log.error({ err: error, count }, 'bodies of calls could not be stored'),
  });
  const bodies = settings.logBodies === 'full' ? bodyLog : undefined;
  const keepDays = (workspaceId: string | undefined): number | undefined =>
    fewer(directory.logRules(workspaceId)?.keepDays, settings.logDays);
  const keepsMetadata = settings.logBodies !== 'none';
  const prices = openPriceList([], ownPrices);
  const counter = createTokenCounter();
  const books = new Books({
    prices,
    counter,
    log: requestLog,
    flights,
    bodies,
    onEntry,
    keepDays,
    keepsMetadata,
  });
  const endRetention = keepRetention({
    store,
    retention: settings,
    now: Date.now,
    onDropped: (buckets) => log.info({ buckets }, 'the log of days that are over was dropped'),
    onTrouble: (error) => log.error({ err: error }, 'the log of days that are over could not be dropped yet'),
  });
  return {
    books,
    requestLog,
    bodyLog,
    flights,
    prices,
    counter,
    keepDays,
    keepsMetadata,
    keepsWords: (workspaceId) => keepsMetadata && directory.logRules(workspaceId)?.bodies !== false,
    keepsBodies: (workspaceId) => bodies !== undefined && directory.logRules(workspaceId)?.bodies !== false,
    keepsLate: (late) => bodyLog.keep(lateHookRecord(late, keepDays(late.entry.workspaceId))),
    async follow(deps) {
      if (opened) await within(REPLAY_MS, opened.follow({ ...deps, store, prices }, requestLog));
    },
    async flush() {
      await books.flush();
      await bodyLog.flush();
    },
    async close() {
      await books.drained();
      await books.flush().catch(() => {});
      await bodyLog.close();
      await endRetention();
      await requestLog.close();
      await opened?.close();
      await counter.close();
    },
  };
}

/** The days that a workspace sets, where they are fewer than the gateway's. */
function fewer(own: number | undefined, all: number): number | undefined {
  return own === undefined || own >= all ? undefined : own;
}
