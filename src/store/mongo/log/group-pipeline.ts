// Roll-ups of entries: the pipeline with which the server makes them, and its rows as roll-ups.
import type mongoose from 'mongoose';
import type { LogDimension, LogRollups } from '../../log/aggregation.ts';
import { emptyRollup } from '../../log/rollups.ts';
import type { Filter } from '../page-filter.ts';
import { pairKey } from './entry-row.ts';

type Stage = mongoose.mongo.Document;

/** What is grouped by: the bucket's length and dimensions. */
export interface Grouping {
  readonly bucketMs: number | undefined;
  readonly by: readonly LogDimension[];
  /** Entries without a user are in a group too: '', and the others in `=` and the name. */
  readonly userless?: boolean;
}

/** A row of `sumsPipeline`. */
export interface RollupRow {
  readonly _id: { readonly b: number } & Readonly<Record<`g${number}`, unknown>>;
  readonly n: number;
  readonly ok: number;
  readonly err: number;
  readonly cost: unknown;
  readonly pt: number;
  readonly ct: number;
  readonly tt: number;
  readonly us: number;
  readonly hits: number;
  readonly near: number;
  readonly hitUs: number;
  readonly saved: unknown;
  readonly nearSaved: unknown;
  readonly retried: number;
  readonly rescued: number;
  readonly first: number;
  readonly last: number;
  /** Absent: not requested. */
  readonly h?: readonly { readonly b: number; readonly n: number }[];
}

/**
 * Roll-ups of the matching entries by bucket and group; at most `limit` rows.
 * @param latencies whether their histograms are requested, which take a group for each latency
 */
export function rollupPipeline(match: Filter, grouping: Grouping, limit: number, latencies = true): Stage[] {
  if (!latencies) {
    const group = { $group: { _id: keyOf(grouping), ...totalFields() } };
    return [...grouped(match, grouping), group, { $limit: limit }];
  }
  const totals = [
    'n',
    'ok',
    'err',
    'cost',
    'pt',
    'ct',
    'tt',
    'us',
    'hits',
    'near',
    'hitUs',
    'saved',
    'nearSaved',
  ];
  const together = Object.fromEntries(
    [...totals, 'retried', 'rescued'].map((name) => [name, { $sum: `$${name}` }]),
  );
  return [
    ...grouped(match, grouping),
    { $group: { _id: { ...keyOf(grouping), l: '$latencyBucket' }, ...totalFields() } },
    {
      $group: {
        _id: membersOf(grouping),
        ...together,
        first: { $min: '$first' },
        last: { $max: '$last' },
        h: { $push: { b: '$_id.l', n: '$n' } },
      },
    },
    { $limit: limit },
  ];
}

/** A row of `firstTokenPipeline`. */
export interface FirstTokenRow extends Pick<RollupRow, '_id'> {
  readonly us: number;
  /** Bucket -1: the rows do not say whether they have one. */
  readonly h: readonly { readonly b: number; readonly n: number }[];
}

/** Times to first token of the matching entries by bucket and group; at most `limit` rows. */
export function firstTokenPipeline(match: Filter, grouping: Grouping, limit: number): Stage[] {
  const bucket = { $ifNull: ['$firstTokenBucket', -1] };
  return [
    // Entries that have none.
    ...grouped({ ...match, firstTokenUs: { $ne: -1 } }, grouping),
    {
      $group: {
        _id: { ...keyOf(grouping), l: bucket },
        n: { $sum: 1 },
        us: { $sum: '$firstTokenUs' },
      },
    },
    {
      $group: {
        _id: membersOf(grouping),
        us: { $sum: '$us' },
        h: { $push: { b: '$_id.l', n: '$n' } },
      },
    },
    { $limit: limit },
  ];
}

/** A row's times to first token, as a roll-up of nothing else. */
export function firstTokensOf({ us, h }: FirstTokenRow): LogRollups {
  const rollup = emptyRollup(true);
  const { firstTokens } = rollup;
  if (firstTokens === undefined) return rollup;
  firstTokens.us = Number(us);
  for (const { b, n } of h) {
    if (Number(b) < 0) firstTokens.unknown += Number(n);
    else {
      firstTokens.calls += Number(n);
      firstTokens.times.set(Number(b), Number(n));
    }
  }
  return rollup;
}

/** The members of a group's key, out of a key that has more. */
function membersOf({ by }: Grouping): Record<string, string> {
  return Object.fromEntries(['b', ...by.map((_, i) => `g${i}`)].map((name) => [name, `$_id.${name}`]));
}

/** The distinct values of a dimension by bucket and group; at most `limit` rows. */
export function uniquePipeline(
  match: Filter,
  grouping: Grouping,
  unique: LogDimension,
  limit: number,
): Stage[] {
  const { by } = grouping;
  const value = dimensionValue(unique, by.length);
  return [
    ...grouped(match, { ...grouping, by: [...by, unique] }),
    { $group: { _id: { ...keyOf(grouping), u: value } } },
    { $limit: limit },
  ];
}

/** The entries that are in a group of each dimension. */
function grouped(match: Filter, { by, userless }: Grouping): Stage[] {
  const stages: Stage[] = [{ $match: match }];
  for (const [index, dimension] of by.entries()) {
    if (dimension === 'user' && !userless) stages.push({ $match: { user: { $type: 'string' } } });
    // A comparison, which the index of reasons answers.
    if (dimension === 'errorReason') stages.push({ $match: { errorReason: { $gte: '' } } });
    if (typeof dimension !== 'object') continue;
    const pairs = pairsWith(pairKey(dimension.metadata));
    stages.push(
      { $set: { [`m${index}`]: { $first: pairs } } },
      { $match: { [`m${index}`]: { $type: 'string' } } },
    );
  }
  return stages;
}

/** An entry's pairs of a key. */
function pairsWith(key: string): Stage {
  return {
    $filter: { input: '$metadata', cond: { $eq: [{ $indexOfBytes: ['$$this', { $literal: key }] }, 0] } },
  };
}

function keyOf({ bucketMs, by, userless }: Grouping): Record<string, unknown> {
  const bucket =
    bucketMs === undefined ? 0 : { $subtract: ['$createdAt', { $mod: ['$createdAt', bucketMs] }] };
  return {
    b: bucketMs === undefined ? { $literal: 0 } : bucket,
    ...Object.fromEntries(
      by.map((dimension, index) => [
        `g${index}`,
        userless && dimension === 'user' ? MARKED_USER : dimensionValue(dimension, index),
      ]),
    ),
  };
}

const MARKED_USER = { $cond: [{ $eq: [{ $type: '$user' }, 'string'] }, { $concat: ['=', '$user'] }, ''] };

/** @param index of the dimension, for the member that `grouped` sets. */
function dimensionValue(dimension: LogDimension, index: number): unknown {
  if (typeof dimension === 'object') {
    return { $substrBytes: [`$m${index}`, Buffer.byteLength(pairKey(dimension.metadata)), -1] };
  }
  switch (dimension) {
    case 'workspace':
      return '$workspaceId';
    case 'apiKey':
      return '$apiKeyId';
    case 'retries':
      return { $ifNull: ['$retries', 0] };
    case 'user':
    case 'provider':
    case 'model':
    case 'statusCode':
      return `$${dimension}`;
    default:
      return { $ifNull: [`$${dimension}`, ''] };
  }
}

/** A dimension's value; '' or null: the entry has none. */
export function dimensionOrNothing(dimension: LogDimension): unknown {
  if (dimension === 'user') return { $cond: [{ $eq: [{ $type: '$user' }, 'string'] }, '$user', ''] };
  if (typeof dimension !== 'object') return dimensionValue(dimension, 0);
  const key = pairKey(dimension.metadata);
  const pair = { $first: pairsWith(key) };
  return {
    $cond: [{ $eq: [{ $type: pair }, 'string'] }, { $substrBytes: [pair, Buffer.byteLength(key), -1] }, ''],
  };
}

/** The members of `addEntry`. Money is added up as decimals of 34 digits: a sum of whole numbers would overflow. */
function totalFields(): Record<string, unknown> {
  const when = (condition: unknown, value: unknown): unknown => ({ $sum: { $cond: [condition, value, 0] } });
  const hit = { $eq: ['$cacheStatus', 'HIT'] };
  const near = { $eq: ['$cacheStatus', 'SEMANTIC HIT'] };
  const saved = { $toDecimal: { $ifNull: ['$saved', 0] } };
  return {
    n: { $sum: 1 },
    ok: when({ $and: [{ $gte: ['$statusCode', 200] }, { $lt: ['$statusCode', 300] }] }, 1),
    err: when({ $gte: ['$statusCode', 400] }, 1),
    cost: { $sum: { $toDecimal: '$cost' } },
    pt: { $sum: '$promptTokens' },
    ct: { $sum: '$completionTokens' },
    tt: { $sum: '$totalTokens' },
    us: { $sum: '$latencyUs' },
    hits: when(hit, 1),
    near: when(near, 1),
    hitUs: when({ $or: [hit, near] }, '$latencyUs'),
    saved: when(hit, saved),
    nearSaved: when(near, saved),
    retried: when({ $gt: [{ $ifNull: ['$retries', 0] }, 0] }, 1),
    rescued: when({ $eq: ['$rescued', true] }, 1),
    first: { $min: '$createdAt' },
    last: { $max: '$createdAt' },
  };
}

/** The values of a row's group, as texts. */
export function groupOf(id: RollupRow['_id'], count: number): string[] {
  return Array.from({ length: count }, (_, index) => String(id[`g${index}`]));
}

export function rollupOf(row: RollupRow): LogRollups {
  return {
    requests: Number(row.n),
    successes: Number(row.ok),
    errors: Number(row.err),
    cost: amountOf(row.cost),
    promptTokens: Number(row.pt),
    completionTokens: Number(row.ct),
    totalTokens: Number(row.tt),
    latencyUs: Number(row.us),
    latencies: new Map((row.h ?? []).map(({ b, n }) => [Number(b), Number(n)])),
    cacheHits: Number(row.hits),
    semanticHits: Number(row.near),
    cacheLatencyUs: Number(row.hitUs),
    saved: amountOf(row.saved),
    semanticSaved: amountOf(row.nearSaved),
    retried: Number(row.retried),
    rescued: Number(row.rescued),
    firstSeen: Number(row.first),
    lastSeen: Number(row.last),
  };
}

/** A whole number as the server has it: a number, or a decimal, whose text may have an exponent. */
export function amountOf(value: unknown): bigint {
  if (typeof value === 'number' || typeof value === 'bigint') return BigInt(value);
  const text = String(value);
  const parts = /^(\d+)(?:\.(\d+))?(?:E\+?(\d+))?$/.exec(text);
  if (!parts) throw new Error('a sum of money is no whole number');
  const [, whole = '', fraction = '', exponent = '0'] = parts;
  return BigInt(whole + fraction.padEnd(Number(exponent), '0').slice(0, Number(exponent)));
}
