// Where a page with a number begins: whole days are counted, and the entry before the page is looked for in one.
import { invalidField } from '../../../lib/errors.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import type { Bucket } from './bucket-name.ts';
import { entryMatch } from './entry-filter.ts';
import { entriesWithin, entrySort, type PageQuery } from './entry-pages.ts';
import { comparePositions, type Position } from './page-cursor.ts';
import type { LogPlace } from './place.ts';

/** Days counted at once. */
const TOGETHER = 8;

/** The last entry before a query's page; undefined when there are not so many. */
export async function skipEntries(
  place: LogPlace,
  query: PageQuery,
  buckets: readonly Bucket[],
  deadline: Deadline,
): Promise<Position | undefined> {
  try {
    return await new Skipper(place, query, deadline).skip(buckets);
  } catch (error) {
    if (!isOutOfTime(error)) throw error;
    throw invalidField('current_page', 'lies too deep for this filter: use the cursor', 'lte');
  }
}

class Skipper {
  readonly #place: LogPlace;
  readonly #query: PageQuery;
  readonly #deadline: Deadline;
  readonly #filter: ReturnType<typeof entriesWithin>;
  readonly #hint: string | undefined;

  constructor(place: LogPlace, query: PageQuery, deadline: Deadline) {
    const { filter, lead, exact } = entryMatch(query, query.filter);
    this.#place = place;
    this.#query = query;
    this.#deadline = deadline;
    this.#filter = entriesWithin(filter, query, { after: undefined, until: undefined });
    this.#hint = exact ? lead.index : undefined;
  }

  async skip(buckets: readonly Bucket[]): Promise<Position | undefined> {
    const days = [...Map.groupBy(buckets, ({ day }) => day).values()];
    const sign = this.#query.order === 'asc' ? 1 : -1;
    days.sort((a, b) => sign * ((a[0]?.day ?? 0) - (b[0]?.day ?? 0)));
    let left = this.#query.skip;
    for (let at = 0; at < days.length; at += TOGETHER) {
      const wave = days.slice(at, at + TOGETHER);
      const counts = await Promise.all(wave.map((day) => this.#count(day, left)));
      for (const [index, count] of counts.entries()) {
        if (count >= left) return this.#nth(wave[index] as readonly Bucket[], left);
        left -= count;
      }
    }
    return undefined;
  }

  async #count(day: readonly Bucket[], limit: number): Promise<number> {
    const { database } = this.#place;
    const counts = await Promise.all(
      day.map(({ name }) =>
        database.collection(name).countDocuments(this.#filter, {
          limit,
          maxTimeMS: this.#deadline.remaining(),
          ...(this.#hint === undefined ? {} : { hint: this.#hint }),
        }),
      ),
    );
    return counts.reduce((a, b) => a + b, 0);
  }

  /** The entry of a day before which there are `nth` - 1. Of several buckets: their keys alone, out of the index. */
  async #nth(day: readonly Bucket[], nth: number): Promise<Position | undefined> {
    const { order } = this.#query;
    const alone = day.length === 1;
    const keys = await Promise.all(
      day.map(({ name }) => {
        const cursor = this.#place.database
          .collection(name)
          .find(this.#filter)
          .project<Position>({ _id: 0, createdAt: 1, id: 1 })
          .sort(entrySort(order))
          .skip(alone ? nth - 1 : 0)
          .limit(alone ? 1 : nth)
          .maxTimeMS(this.#deadline.remaining());
        return (this.#hint === undefined ? cursor : cursor.hint(this.#hint)).toArray();
      }),
    );
    const sorted = keys.flat().sort((a, b) => (order === 'asc' ? 1 : -1) * comparePositions(a, b));
    return sorted[alone ? 0 : nth - 1];
  }
}
