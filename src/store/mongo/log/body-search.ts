// A search in bodies. They are compressed, so that the server cannot look into them: entries of the days that have some
// are read in order, a few at a time, with their bodies; on all other days the server looks for the text.
import type { RequestRecord } from '../../../call/record.ts';
import { bodyFilter, type SearchSlice, type SliceAsk, searchInSlices } from '../../log/body-search.ts';
import { decodeEntry } from '../../log/entry-text.ts';
import { matchesLog, textOf } from '../../log/matches.ts';
import type { BodySearch, LogFilter, LogPage } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import { isOutOfTime } from '../failures.ts';
import type { BodiesRow } from './bodies.ts';
import { type Bucket, beginOf, endOf } from './bucket-name.ts';
import { KEY_INDEX } from './entry-indexes.ts';
import { type PageQuery, readEntries } from './entry-pages.ts';
import { keptText } from './kept-text.ts';
import { encodePosition, type Position } from './page-cursor.ts';
import type { LogPlace } from './place.ts';

/** Entries read at once, and those of them whose bodies are. */
const CHUNK = 256;
const FEW = 32;
/** What a command has at the least, in milliseconds. */
const LEAST_MS = 250;

/** Entries and bodies of a query's time. */
interface Searched {
  readonly place: LogPlace;
  readonly query: PageQuery;
  readonly entries: readonly Bucket[];
  readonly bodies: readonly Bucket[];
  /** Whose bodies are searched. */
  readonly within: LogFilter;
  readonly needle: string;
}

interface Match extends Position {
  readonly record: RequestRecord;
}

/** A page with a search in bodies; undefined: none is asked for, or there are no bodies to be searched. */
export async function searchPage(
  place: LogPlace,
  query: PageQuery,
  search: BodySearch,
  deadline: Deadline,
): Promise<LogPage | undefined> {
  const { filter, order } = query;
  const within = bodyFilter(filter, search);
  if (filter.text === undefined || within === undefined) return undefined;
  const { from, until } = filter;
  const [entries, bodies] = await Promise.all([
    place.buckets.list('entries', deadline, from, until),
    place.buckets.list('bodies', deadline, from, until),
  ]);
  if (bodies.length === 0) return undefined;
  const searched: Searched = { place, query, entries, bodies, within, needle: filter.text.toLowerCase() };
  const ask = { ...query, bodies: search };
  const found = await searchInSlices<Position, Match>(ask, (slice) => searchSlice(searched, slice, deadline));
  return {
    total: found.total,
    totalCapped: found.capped,
    entries: found.entries.map(({ record }) => record),
    ...(found.next === undefined ? {} : { next: encodePosition(found.next, order) }),
    ...(found.stopped === undefined ? {} : { searchedTo: found.stopped.createdAt }),
  };
}

type Slice = SearchSlice<Position, Match>;

async function searchSlice(searched: Searched, ask: SliceAsk<Position>, deadline: Deadline): Promise<Slice> {
  const look = new Look(searched, ask, deadline);
  try {
    return await look.look();
  } catch (error) {
    if (!isOutOfTime(error) || look.at === undefined || look.at === ask.after) throw error;
    return look.answer(look.at);
  }
}

class Look {
  readonly #searched: Searched;
  readonly #ask: SliceAsk<Position>;
  readonly #deadline: Deadline;
  readonly #giveUpAt: number;
  readonly #matches: Match[] = [];
  #matched = 0;
  #bytes = 0;
  /** Everything up to here was looked at. */
  at: Position | undefined;

  constructor(searched: Searched, ask: SliceAsk<Position>, deadline: Deadline) {
    this.#searched = searched;
    this.#ask = ask;
    const giveUpAt = performance.now() + ask.ms;
    this.#giveUpAt = giveUpAt;
    // A slice ends behind at least one entry, however slow the server is: else a search would come to nothing.
    const left = (): number =>
      this.at === ask.after
        ? deadline.remaining()
        : Math.max(LEAST_MS, Math.floor(giveUpAt - performance.now()));
    this.#deadline = { ...deadline, remaining: () => Math.min(deadline.remaining(), left()) };
  }

  answer(at: Position | undefined): Slice {
    const entries = this.#matches;
    return { entries, last: entries.at(-1), matched: this.#matched, at, bytes: this.#bytes };
  }

  async look(): Promise<Slice> {
    this.at = this.#ask.after;
    for (const { from, until, withBodies } of spansOf(this.#searched)) {
      const { entries, query, place } = this.#searched;
      const own = entries.filter((bucket) => endOf(bucket) > from && beginOf(bucket) < until);
      const { text, ...rest } = query.filter;
      const filter = { ...rest, from, until, ...(withBodies || text === undefined ? {} : { text }) };
      for (;;) {
        const asked = { ...query, filter, skip: 0, take: CHUNK, after: this.at };
        const { entries: found, next } = await readEntries(place, asked, own, this.#deadline);
        for (let i = 0; i < found.length; i += FEW) {
          const few = found.slice(i, i + FEW).map(({ createdAt, id, entry }) => {
            return { createdAt, id, record: decodeEntry(entry) };
          });
          if (await this.#take(few, withBodies)) return this.answer(this.at);
        }
        if (next === undefined) break;
        this.at = next;
        if (this.#isOver()) return this.answer(next);
      }
    }
    return this.answer(undefined);
  }

  #isOver(): boolean {
    return (
      this.#matched >= this.#ask.limit || this.#bytes >= this.#ask.bytes || performance.now() > this.#giveUpAt
    );
  }

  /** Looks at entries, with their bodies. True: it is over. */
  async #take(entries: readonly Match[], withBodies: boolean): Promise<boolean> {
    const { needle } = this.#searched;
    const said = withBodies ? await this.#said(entries) : undefined;
    for (const match of entries) {
      this.at = { createdAt: match.createdAt, id: match.id };
      if (said !== undefined && !said.has(keyOf(match)) && !textOf(match.record).includes(needle)) continue;
      this.#matched++;
      if (this.#matched > this.#ask.skip && this.#matches.length < this.#ask.take) this.#matches.push(match);
      if (this.#matched >= this.#ask.limit) return true;
    }
    return this.#isOver();
  }

  /** The entries whose bodies have the text. */
  async #said(entries: readonly Match[]): Promise<ReadonlySet<string>> {
    const { place, query, bodies, within, needle } = this.#searched;
    const said = new Set<string>();
    const searched = entries.filter(({ record }) => record.bodies && matchesLog(within, record));
    const times = searched.map(({ createdAt }) => createdAt);
    if (searched.length === 0) return said;
    const [from, to] = [Math.min(...times), Math.max(...times)];
    const wanted = new Set(searched.map(keyOf));
    for (const bucket of bodies) {
      if (endOf(bucket) <= from || beginOf(bucket) > to) continue;
      const rows = place.database
        .collection<BodiesRow>(bucket.name)
        .find({
          organisationId: query.organisationId,
          createdAt: { $gte: from, $lte: to },
          id: { $in: searched.map(({ record }) => keptText(record.id)) },
        })
        .hint(KEY_INDEX)
        .batchSize(FEW)
        .maxTimeMS(this.#deadline.remaining());
      for await (const row of rows) {
        if (!wanted.has(keyOf(row))) continue;
        const { holds, bytes } = await place.matcher.match(row.data.buffer, needle);
        this.#bytes += bytes;
        if (holds) said.add(keyOf(row));
      }
    }
    return said;
  }
}

function keyOf({ createdAt, id }: Position): string {
  return `${createdAt} ${id}`;
}

interface Span {
  readonly from: number;
  readonly until: number;
  readonly withBodies: boolean;
}

/** The time of bodies and what is before and after it, in the query's order. */
function spansOf({ query, bodies }: Searched): Span[] {
  const { from = 0, until = Number.MAX_SAFE_INTEGER } = query.filter;
  const begin = Math.max(from, Math.min(...bodies.map(beginOf)));
  const end = Math.min(until, Math.max(...bodies.map(endOf)));
  const spans = [
    { from, until: begin, withBodies: false },
    { from: begin, until: end, withBodies: true },
    { from: end, until, withBodies: false },
  ].filter((span) => span.from < span.until);
  return query.order === 'asc' ? spans : spans.reverse();
}
