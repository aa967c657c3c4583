// Pages of entries over buckets, day after day. What an index answers is read at once; what it does not is tried, and
// read piece by piece when that takes too long, so that a page comes in time whatever is asked.
import type mongoose from 'mongoose';
import type { LogFilter } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import type { Filter } from '../page-filter.ts';
import { type Bucket, beginOf, endOf } from './bucket-name.ts';
import { type CheckedScope, type EntryMatch, entryMatch, timesOf } from './entry-filter.ts';
import { comparePositions, type Position } from './page-cursor.ts';
import type { LogPlace } from './place.ts';

export interface PageQuery extends CheckedScope {
  readonly filter: LogFilter;
  readonly order: 'asc' | 'desc';
  readonly skip: number;
  readonly take: number;
  readonly after: Position | undefined;
  readonly count: boolean;
}

export interface FoundEntry extends Position {
  /** The entry's JSON text. */
  readonly entry: string;
}

export interface FoundPage {
  readonly entries: readonly FoundEntry[];
  /** The position of the next page; undefined on the last page. */
  readonly next: Position | undefined;
}

/** Days read at once, at the most. */
const TOGETHER = 16;
/** Of the time that is left, for the try to read a day at once. */
const TRY_SHARE = 0.3;
/** Of the time that a call has, for reading piece by piece. */
const READ_SHARE = 0.6;
/** The share for counting where no index answers: a caller should not wait long for a number. */
const COUNT_SHARE = 0.2;

/** Entries after a position (or from the first), and where the next page begins. */
export async function readEntries(
  place: LogPlace,
  query: PageQuery,
  buckets: readonly Bucket[],
  deadline: Deadline,
): Promise<FoundPage> {
  const reader = new EntryReader(place, query, deadline);
  const days = [...Map.groupBy(behind(buckets, query), ({ day }) => day)].map(([day, own]) => ({ day, own }));
  days.sort((a, b) => (query.order === 'asc' ? a.day - b.day : b.day - a.day));
  const found: FoundEntry[] = [];
  const wanted = query.take + 1;
  let width = 1;
  for (let at = 0; at < days.length && found.length < wanted; ) {
    const wave = days.slice(at, at + width);
    const read = await reader.days(
      wave.map(({ own }) => own),
      wanted - found.length,
    );
    for (const { entries } of read) found.push(...entries.slice(0, wanted - found.length));
    const short = read.at(-1)?.until;
    if (short !== undefined && found.length < wanted) return { entries: found, next: short };
    at += read.length;
    const day = days[at - 1]?.own[0];
    if (day && at < days.length && found.length < wanted && reader.isLate()) {
      return { entries: found, next: lastOf(day, query.order) };
    }
    width = Math.min(width * 2, TOGETHER);
  }
  const entries = found.slice(0, query.take);
  return { entries, next: found.length > query.take ? entries.at(-1) : undefined };
}

/** No id comes after it. */
const LAST_ID = '\u{10ffff}';

/** The position after all entries of a day. */
function lastOf(day: Bucket, order: 'asc' | 'desc'): Position {
  return order === 'desc' ? { createdAt: beginOf(day), id: '' } : { createdAt: endOf(day) - 1, id: LAST_ID };
}

/** The buckets that may have entries after a query's position. */
function behind(buckets: readonly Bucket[], { order, after }: PageQuery): readonly Bucket[] {
  if (after === undefined) return buckets;
  return buckets.filter((bucket) => {
    const last = lastOf(bucket, order);
    const comparison = comparePositions(after, last);
    return order === 'asc' ? comparison < 0 : comparison > 0;
  });
}

interface DayRead {
  readonly entries: readonly FoundEntry[];
  /** Reading ended here for want of time. */
  readonly until?: Position;
}

class EntryReader {
  readonly #database: mongoose.mongo.Db;
  readonly #query: PageQuery;
  readonly #match: EntryMatch;
  readonly #deadline: Deadline;
  readonly #stopAt: number;
  readonly #piece: number;
  #pieces: boolean;

  constructor({ database, piece }: LogPlace, query: PageQuery, deadline: Deadline) {
    this.#database = database;
    this.#piece = piece;
    this.#query = query;
    this.#match = entryMatch(query, query.filter);
    this.#deadline = deadline;
    this.#stopAt = performance.now() + deadline.remaining() * READ_SHARE;
    // No index helps with a text.
    this.#pieces = query.filter.text !== undefined;
  }

  /** It goes piece by piece, and its time is over. */
  isLate(): boolean {
    return this.#pieces && performance.now() > this.#stopAt;
  }

  /** Reads days in the query's order; fewer than were asked for when it goes piece by piece. */
  async days(days: readonly (readonly Bucket[])[], take: number): Promise<DayRead[]> {
    if (!this.#pieces) {
      try {
        return await Promise.all(days.map(async (own) => ({ entries: await this.#whole(own, take) })));
      } catch (error) {
        if (this.#match.exact || !isOutOfTime(error)) throw error;
        this.#pieces = true;
      }
    }
    return [await this.#piecewise(days[0] as readonly Bucket[], take)];
  }

  async #whole(day: readonly Bucket[], take: number): Promise<FoundEntry[]> {
    const { after } = this.#query;
    const left = this.#deadline.remaining();
    const ms = this.#match.exact ? left : Math.max(50, Math.floor(left * TRY_SHARE));
    return this.#merged(day, take, { after, until: undefined }, ms);
  }

  async #piecewise(day: readonly Bucket[], take: number): Promise<DayRead> {
    const entries: FoundEntry[] = [];
    let { after } = this.#query;
    while (entries.length < take) {
      const until = await this.#endOfPiece(day, after);
      const span = { after, until };
      entries.push(...(await this.#merged(day, take - entries.length, span, this.#deadline.remaining())));
      if (until === undefined) break;
      after = until;
      if (performance.now() > this.#stopAt) return { entries, until };
    }
    return { entries };
  }

  /** The last entry that a piece looks at; undefined when the day ends before. */
  async #endOfPiece(day: readonly Bucket[], after: Position | undefined): Promise<Position | undefined> {
    const { lead } = this.#match;
    const ends = await Promise.all(
      day.map(async ({ name }) => {
        const [end] = await this.#cursor(name, this.#within(lead.filter, { after, until: undefined }), {
          skip: this.#piece - 1,
          take: 1,
          hint: lead.index,
          ms: this.#deadline.remaining(),
        })
          .project<Position>({ _id: 0, createdAt: 1, id: 1 })
          .toArray();
        return end;
      }),
    );
    return ends
      .filter((end) => end !== undefined)
      .sort((a, b) => this.#compare(a, b))
      .at(0);
  }

  /** Entries of a day's buckets in one order. */
  async #merged(day: readonly Bucket[], take: number, span: Span, ms: number): Promise<FoundEntry[]> {
    const { filter, lead, exact } = this.#match;
    const hint = exact || this.#pieces ? lead.index : undefined;
    const lists = await Promise.all(
      day.map(({ name }) =>
        this.#cursor(name, this.#within(filter, span), { skip: 0, take, hint, ms })
          .project<FoundEntry>({ _id: 0, createdAt: 1, id: 1, entry: 1 })
          .toArray(),
      ),
    );
    if (lists.length === 1) return lists[0] as FoundEntry[];
    return lists
      .flat()
      .sort((a, b) => this.#compare(a, b))
      .slice(0, take);
  }

  #cursor(
    name: string,
    filter: Filter,
    {
      skip,
      take,
      hint,
      ms,
    }: {
      readonly skip: number;
      readonly take: number;
      readonly hint: string | undefined;
      readonly ms: number;
    },
  ): mongoose.mongo.FindCursor {
    const cursor = this.#database
      .collection(name)
      .find(filter)
      .sort(entrySort(this.#query.order))
      .skip(skip)
      .limit(take)
      .batchSize(take)
      .maxTimeMS(ms);
    return hint === undefined ? cursor.allowDiskUse(true) : cursor.hint(hint);
  }

  #within(filter: Filter, span: Span): Filter {
    return entriesWithin(filter, this.#query, span);
  }

  #compare(a: Position, b: Position): number {
    return this.#query.order === 'asc' ? comparePositions(a, b) : comparePositions(b, a);
  }
}

/** After one entry, up to and including another. */
interface Span {
  readonly after: Position | undefined;
  readonly until: Position | undefined;
}

/** Entries of one millisecond by id. */
export function entrySort(order: 'asc' | 'desc'): Record<string, 1 | -1> {
  const direction = order === 'asc' ? 1 : -1;
  return { createdAt: direction, id: direction };
}

/** A filter with a query's times and a span; the outer bounds are ranges of every index. */
export function entriesWithin(
  filter: Filter,
  { filter: { from, until }, order }: Pick<PageQuery, 'filter' | 'order'>,
  span: Span,
): Filter {
  const [low, high] = order === 'asc' ? [span.after, span.until] : [span.until, span.after];
  const [overLow, underHigh] = order === 'asc' ? (['$gt', '$lte'] as const) : (['$gte', '$lt'] as const);
  const bounds: Filter[] = [];
  const times = timesOf(from, until);
  if (times) bounds.push({ createdAt: times });
  if (low) {
    bounds.push({ createdAt: { $gte: low.createdAt } });
    bounds.push({ $or: [{ createdAt: { $gt: low.createdAt } }, tie(low, overLow)] });
  }
  if (high) {
    bounds.push({ createdAt: { $lte: high.createdAt } });
    bounds.push({ $or: [{ createdAt: { $lt: high.createdAt } }, tie(high, underHigh)] });
  }
  if (bounds.length === 0) return filter;
  if (bounds.length === 1) return { ...filter, ...bounds[0] };
  const { $and: and = [], ...rest } = filter;
  return { ...rest, $and: [...(and as Filter[]), ...bounds] };
}

function tie({ createdAt, id }: Position, operator: '$gt' | '$gte' | '$lt' | '$lte'): Filter {
  return { createdAt, id: { [operator]: id } };
}

/** How many entries match a query, up to one more than a limit. */
export async function countEntries(
  { database }: LogPlace,
  query: PageQuery,
  buckets: readonly Bucket[],
  limit: number,
  deadline: Deadline,
): Promise<{ readonly count: number; readonly whole: boolean }> {
  const { filter, lead, exact } = entryMatch(query, query.filter);
  const within = entriesWithin(filter, query, { after: undefined, until: undefined });
  let count = 0;
  let whole = true;
  const left = [...buckets];
  const stopAt = performance.now() + deadline.remaining() * COUNT_SHARE;
  const work = async (): Promise<void> => {
    for (let bucket = left.pop(); bucket && count <= limit; bucket = left.pop()) {
      const ms = Math.floor(stopAt - performance.now());
      if (ms <= 0) {
        whole = false;
        return;
      }
      try {
        const own = await database.collection(bucket.name).countDocuments(within, {
          limit: limit + 1 - count,
          maxTimeMS: exact ? deadline.remaining() : ms,
          ...(exact ? { hint: lead.index } : {}),
        });
        // Others count meanwhile.
        count += own;
      } catch (error) {
        if (exact || !isOutOfTime(error)) throw error;
        whole = false;
      }
    }
  };
  await Promise.all(Array.from({ length: 4 }, work));
  return { count: Math.min(count, limit + 1), whole };
}
