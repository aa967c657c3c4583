// What other instances record, for a caller who reads along: looked for in the log they share.
import type { RequestRecord } from '../../call/record.ts';
import type { LogStore } from '../../store/log-store.ts';
import type { LogSelection } from './filter.ts';
import type { WaitingEntries } from './waiting-entries.ts';

/** How far back is looked: entries have the time at which their call began, and come when it ends. */
const LOOK_BACK_MS = 60_000;
const PAGE = 200;
/** Pages of one look. */
const PAGES = 20;
/** One look of so many goes on after entries that are known already. */
const DEEP = 5;

export interface OtherInstancesDeps {
  readonly store: Pick<LogStore, 'page'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** @returns looks once; while a look is under way it does nothing */
export function otherInstances(
  deps: OtherInstancesDeps,
  selection: LogSelection,
  waiting: WaitingEntries,
): () => void {
  let isLooking = false;
  let looks = 0;
  return () => {
    if (isLooking) return;
    isLooking = true;
    look(deps, selection, waiting, ++looks % DEEP === 0)
      // The store is away: the next look finds them.
      .catch(() => {})
      .finally(() => {
        isLooking = false;
      });
  };
}

async function look(
  { store, now }: OtherInstancesDeps,
  { scope, filter }: LogSelection,
  waiting: WaitingEntries,
  isDeep: boolean,
): Promise<void> {
  const from = Math.max(waiting.began, now() - LOOK_BACK_MS);
  const place = { page: 0, pageSize: PAGE, order: 'desc' as const, count: false as const };
  const found: RequestRecord[] = [];
  let after: string | undefined;
  let isNew = true;
  let pages = 0;
  do {
    const page = await store.page(
      scope,
      { ...filter, from },
      after === undefined ? place : { ...place, after },
    );
    const fresh = page.entries.filter(({ id }) => !waiting.knows(id));
    found.push(...fresh);
    isNew = fresh.length > 0;
    after = page.next;
    pages++;
  } while (after !== undefined && (isNew || isDeep) && pages < PAGES);
  for (const entry of found.toReversed()) waiting.put(entry);
  // More were made since the last look than one look reads.
  if (after !== undefined && isNew && pages === PAGES) waiting.skip(1);
}
