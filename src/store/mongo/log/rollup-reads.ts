// Reads a span of time from stored roll-ups, and finds the entries that still have to be read.
import { setImmediate } from 'node:timers/promises';
import type mongoose from 'mongoose';
import { type GatewayError, invalidField } from '../../../lib/errors.ts';
import type { FirstTokens, LogRollups } from '../../log/aggregation.ts';
import type { GroupTable } from '../../log/group-table.ts';
import { emptyFirstTokens } from '../../log/rollups.ts';
import type { LogFilter } from '../../request-log.ts';
import type { Deadline } from '../calls.ts';
import { type EntrySpan, tooMany } from './aggregate.ts';
import { type Bucket, beginOf, bucketNamed, endOf } from './bucket-name.ts';
import type { CheckedScope } from './entry-filter.ts';
import { decodeFirstTokens } from './first-token-bytes.ts';
import type { LogPlace } from './place.ts';
import { type RolledBucket, rolledBuckets, rolledOf } from './rolled-buckets.ts';
import { decodeRows } from './rollup-bytes.ts';
import type { RollupQuery } from './rollups.ts';
import { HOUR_MS, hourOf, staleHours, staleKey } from './stale-hours.ts';
import { type RollupDocument, rollupCollections } from './stored-rollups.ts';

/** Kept rows read for one answer. */
const ROWS = 3_000_000;
/** Rows merged between two turns of the event loop. */
const SLICE = 500;

type Kept = Pick<RollupDocument, 'hour' | 'bucket' | 'generation' | 'data' | 'firstTokens'>;

/**
 * Adds stored roll-ups into a table. Returns the spans of entries that they do not cover, and whether any were read.
 * Marks are read before roll-ups: a mark is removed only after the new roll-ups are stored.
 */
export async function addKept(
  place: LogPlace,
  { organisationId }: CheckedScope,
  { from = 0, until = Number.MAX_SAFE_INTEGER }: LogFilter,
  query: RollupQuery,
  buckets: readonly Bucket[],
  table: GroupTable,
  deadline: Deadline,
): Promise<{ readonly spans: readonly EntrySpan[]; readonly used: boolean }> {
  const known = await rolledBuckets(place, deadline);
  const stale = await staleHours(place, organisationId, from, until, deadline);
  const cover = new Cover(known, stale, from, until);
  let count = 0;
  let used = false;
  for (const name of await rollupCollections(place, from, until, deadline)) {
    const cursor = keptIn(place, name, organisationId, query, { from, until }, table, deadline);
    for await (const kept of cursor) {
      if (!cover.takes(kept)) continue;
      used = true;
      const firstTokens = firstTokensIn(kept, table);
      for (const { values, rollup } of decodeRows(kept.data?.buffer ?? new Uint8Array(), table.latencies)) {
        const own = firstTokens?.next().value;
        if (++count % SLICE === 0) await setImmediate();
        if (count > ROWS) throw tooMany();
        const group = query.meant(values) ? query.groupOf(values) : undefined;
        if (group === undefined) continue;
        table.add(kept.hour, group, table.firstTokens ? withFirstTokens(rollup, own) : rollup);
        table.addUnique(kept.hour, group, query.uniqueOf(values));
      }
    }
  }
  return { spans: buckets.flatMap((bucket) => cover.left(bucket)), used: used || cover.rolled(buckets) };
}

/** Row after row; undefined: they are not requested, or not stored. */
function firstTokensIn({ firstTokens }: Kept, table: GroupTable): Generator<FirstTokens> | undefined {
  return table.firstTokens && firstTokens ? decodeFirstTokens(firstTokens.buffer) : undefined;
}

function withFirstTokens(rollup: LogRollups, own: FirstTokens | undefined): LogRollups {
  return { ...rollup, firstTokens: own ?? { ...emptyFirstTokens(), unknown: rollup.requests } };
}

function keptIn(
  { database, commandMs }: LogPlace,
  name: string,
  organisationId: string,
  { rollup }: RollupQuery,
  { from, until }: { readonly from: number; readonly until: number },
  { firstTokens }: Pick<GroupTable, 'firstTokens'>,
  deadline: Deadline,
): mongoose.mongo.FindCursor<Kept> {
  return database
    .collection<RollupDocument>(name)
    .find({ organisationId, cuboid: rollup.name, hour: { $gte: hourOf(from), $lt: until } })
    .project<Kept>({
      _id: 0,
      hour: 1,
      bucket: 1,
      generation: 1,
      data: 1,
      ...(firstTokens ? { firstTokens: 1 } : {}),
    })
    .hint('by_hour')
    .batchSize(100)
    .maxTimeMS(Math.min(commandMs, deadline.remaining()));
}

/** The hours and buckets that stored roll-ups cover. */
class Cover {
  readonly #known: ReadonlyMap<string, RolledBucket>;
  readonly #stale: ReadonlySet<string>;
  readonly #from: number;
  readonly #until: number;
  /** Hours whose roll-ups have too many rows to be stored. */
  readonly #tooLarge = new Set<string>();

  constructor(
    known: ReadonlyMap<string, RolledBucket>,
    stale: ReadonlySet<string>,
    from: number,
    until: number,
  ) {
    this.#known = known;
    this.#stale = stale;
    this.#from = from;
    this.#until = until;
  }

  /** Whether the stored roll-up counts. */
  takes({ hour, bucket, generation, data }: Kept): boolean {
    const named = bucketNamed('entries', bucket);
    if (named === undefined) return false;
    const rolled = rolledOf(this.#known, named);
    const gone = generation < rolled.generation || (generation === rolled.generation && rolled.dropping);
    // Without its entries an hour is not to be divided.
    const meant = gone ? hour >= this.#from : generation === rolled.generation && this.#covers(rolled, hour);
    if (meant && data === undefined) {
      if (gone) throw notKept();
      this.#tooLarge.add(staleKey(bucket, hour));
    }
    return meant && data !== undefined;
  }

  /** The spans of time in a bucket whose entries have to be read. */
  left(bucket: Bucket): EntrySpan[] {
    const rolled = rolledOf(this.#known, bucket);
    if (rolled.dropping) return [];
    const spans: { name: string; from: number; until: number }[] = [];
    for (let hour = beginOf(bucket); hour < endOf(bucket); hour += HOUR_MS) {
      const from = Math.max(hour, this.#from);
      const until = Math.min(hour + HOUR_MS, this.#until);
      if (from >= until) continue;
      if (this.#covers(rolled, hour) && !this.#tooLarge.has(staleKey(bucket.name, hour))) continue;
      const last = spans.at(-1);
      if (last?.until === from) last.until = until;
      else spans.push({ name: bucket.name, from, until });
    }
    return spans;
  }

  /** Whether roll-ups cover an hour of any of the buckets, also when it has no entry. */
  rolled(buckets: readonly Bucket[]): boolean {
    return buckets.some((bucket) => {
      const rolled = rolledOf(this.#known, bucket);
      for (let hour = beginOf(bucket); hour < rolled.until; hour += HOUR_MS) {
        if (this.#covers(rolled, hour)) return true;
      }
      return false;
    });
  }

  #covers({ _id, until }: RolledBucket, hour: number): boolean {
    const whole = hour >= this.#from && hour + HOUR_MS <= this.#until;
    return whole && hour < until && !this.#stale.has(staleKey(_id, hour));
  }
}

function notKept(): GatewayError {
  return invalidField(
    'until',
    'means a time whose entries are gone, with too many values to be kept',
    'range',
  );
}
