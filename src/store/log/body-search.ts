// A page of a search that reads bodies: looked for slice after slice, in order of time, until the page is full or the
// budget is used up.
import { LIMITS } from '../documents.ts';
import type { BodySearch, LogFilter } from '../request-log.ts';

/** Milliseconds of one search, those after which a full page's total is counted no further, and those of one slice. */
const SEARCH_MS = 2000;
const COUNT_MS = 250;
const SLICE_MS = 200;
/** Bytes of bodies, unpacked, of one search. */
const SEARCH_BYTES = 256 * 1024 * 1024;

/** What one slice is to do. */
export interface SliceAsk<Position> {
  /** Looks behind it; undefined: from the first entry on. */
  readonly after: Position | undefined;
  /** Matches before those that are given, and how many are given. */
  readonly skip: number;
  readonly take: number;
  /** Ends with so many matches. */
  readonly limit: number;
  /** Ends when these are used up, and never before one entry was looked at. */
  readonly ms: number;
  readonly bytes: number;
}

/** What a slice came to. */
export interface SearchSlice<Position, Entry> {
  readonly entries: readonly Entry[];
  /** Of the last of them. */
  readonly last: Position | undefined;
  readonly matched: number;
  /** Everything up to here was looked at; undefined: everything. */
  readonly at: Position | undefined;
  /** Of bodies, unpacked. */
  readonly bytes: number;
}

export interface SearchPage<Position, Entry> {
  readonly entries: readonly Entry[];
  readonly total: number;
  readonly capped: boolean;
  readonly next: Position | undefined;
  /** The budget was used up here, before the page was full. */
  readonly stopped: Position | undefined;
}

/** What is asked of a search. */
export interface SearchAsk<Position> extends Pick<SliceAsk<Position>, 'after' | 'skip' | 'take'> {
  /** False: the total is 0. */
  readonly count: boolean;
  readonly bodies: BodySearch;
}

export async function searchInSlices<Position, Entry>(
  { after, skip, take, count: counts, bodies }: SearchAsk<Position>,
  slice: (ask: SliceAsk<Position>) => Promise<SearchSlice<Position, Entry>>,
): Promise<SearchPage<Position, Entry>> {
  const { ms = SEARCH_MS, bytes = SEARCH_BYTES, countAll = false } = bodies;
  const most = countAll ? Number.MAX_SAFE_INTEGER : LIMITS.total + 1;
  const begin = performance.now();
  const entries: Entry[] = [];
  let [total, left, at, last] = [0, bytes, after, after];
  for (;;) {
    const page = skip + take + 1;
    const found = await slice({
      after: at,
      skip: Math.max(0, skip - total),
      take: take - entries.length,
      limit: Math.max(1, (counts ? Math.max(most, page) : page) - total),
      ms: Math.min(SLICE_MS, Math.max(0, begin + ms - performance.now())),
      bytes: left,
    });
    entries.push(...found.entries);
    last = found.last ?? last;
    total += found.matched;
    left -= found.bytes;
    at = found.at;
    const more = total >= page;
    const answer = {
      entries,
      total: counts ? Math.min(total, most === LIMITS.total + 1 ? LIMITS.total : most) : 0,
    };
    if (at === undefined) {
      const capped = counts && (after !== undefined || total > answer.total);
      return { ...answer, capped, next: more ? last : undefined, stopped: undefined };
    }
    const spent = performance.now() - begin;
    const over = left <= 0 || spent >= (more && !countAll ? Math.min(ms, COUNT_MS) : ms);
    if (!over && !(more && (!counts || total >= most))) continue;
    return {
      ...answer,
      capped: counts,
      next: more ? last : at,
      stopped: entries.length < take ? at : undefined,
    };
  }
}

/** Which entries' bodies are searched: the filter without its text; undefined: none. */
export function bodyFilter(
  { text: _, ...filter }: LogFilter,
  { apiKeyId }: BodySearch,
): LogFilter | undefined {
  if (apiKeyId === undefined) return filter;
  if (filter.apiKeyIds !== undefined && !filter.apiKeyIds.includes(apiKeyId)) return undefined;
  return { ...filter, apiKeyIds: [apiKeyId] };
}
