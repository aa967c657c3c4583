// How far the roll-ups of each bucket of entries are made.
import type mongoose from 'mongoose';
import type { Deadline } from '../calls.ts';
import { MAJORITY } from '../transaction.ts';
import { type Bucket, beginOf, bucketNamed } from './bucket-name.ts';
import type { LogPlace } from './place.ts';

/** The state of a bucket; an unknown bucket has the initial state. */
export interface RolledBucket {
  /** The bucket's name. */
  readonly _id: string;
  /** The roll-ups of all hours before it are made, except of marked hours. Unix milliseconds. */
  readonly until: number;
  /** How often the bucket was dropped: roll-ups of an earlier generation never change. */
  readonly generation: number;
  /** The bucket is about to be dropped: its roll-ups are complete, and its entries are no longer read. */
  readonly dropping?: boolean;
}

const ROLLED = 'log.rolled';

function rolledIn({ database }: LogPlace): mongoose.mongo.Collection<RolledBucket> {
  return database.collection<RolledBucket>(ROLLED);
}

/** All of them, by name. */
export async function rolledBuckets(place: LogPlace, deadline: Deadline): Promise<Map<string, RolledBucket>> {
  const all = await rolledIn(place).find({}).maxTimeMS(deadline.remaining()).toArray();
  return new Map(all.map((rolled) => [rolled._id, rolled]));
}

export function rolledOf(known: ReadonlyMap<string, RolledBucket>, bucket: Bucket): RolledBucket {
  return known.get(bucket.name) ?? { _id: bucket.name, until: beginOf(bucket), generation: 0 };
}

/** Records up to which time a bucket's roll-ups are made; never moves back. */
export async function markRolled(
  place: LogPlace,
  { _id, generation }: RolledBucket,
  until: number,
  deadline: Deadline,
): Promise<void> {
  await rolledIn(place).updateOne(
    { _id },
    { $max: { until }, $setOnInsert: { generation } },
    { upsert: true, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY },
  );
}

export async function markDropping(place: LogPlace, name: string, deadline: Deadline): Promise<void> {
  await rolledIn(place).updateOne(
    { _id: name },
    { $set: { dropping: true }, $setOnInsert: { generation: 0 } },
    { upsert: true, maxTimeMS: deadline.remaining(), writeConcern: MAJORITY },
  );
}

/** Records that it is dropped: a bucket of the same name then has the initial state. */
export async function markDropped(place: LogPlace, bucket: Bucket, deadline: Deadline): Promise<void> {
  await rolledIn(place).updateOne(
    { _id: bucket.name, dropping: true },
    { $set: { until: beginOf(bucket) }, $inc: { generation: 1 }, $unset: { dropping: '' } },
    { maxTimeMS: deadline.remaining(), writeConcern: MAJORITY },
  );
}

/** Forgets buckets of days whose data is all deleted. */
export async function forgetRolled(place: LogPlace, before: number, deadline: Deadline): Promise<void> {
  const names: string[] = [];
  for (const name of (await rolledBuckets(place, deadline)).keys()) {
    const bucket = bucketNamed('entries', name);
    if (bucket && beginOf(bucket) < before) names.push(name);
  }
  if (names.length > 0) {
    await rolledIn(place).deleteMany({ _id: { $in: names } }, { maxTimeMS: deadline.remaining() });
  }
}
