// Drops expired buckets. Their roll-ups stay: these are completed before the entries are dropped.
import { setTimeout as sleep } from 'node:timers/promises';
import type { LogRetention } from '../../log-store.ts';
import type { Deadline } from '../calls.ts';
import { type Bucket, bucketNamed, isOver } from './bucket-name.ts';
import type { LogPlace } from './place.ts';
import { forgetRolled, markDropped, markDropping, rolledBuckets } from './rolled-buckets.ts';
import type { Roller } from './roller.ts';
import { monthOf, rollupCollections } from './stored-rollups.ts';

const DAY_MS = 86_400_000;
/** Another instance may be making roll-ups: unless it ends soon, the buckets are dropped in the next round. */
const TRIES = 5;
const PAUSE_MS = 500;

/** Drops expired entries, bodies and roll-ups; returns the names of what was dropped. */
export async function dropBuckets(
  place: LogPlace,
  roller: Roller,
  { logDays, bodyDays, metricDays }: LogRetention,
  now: number,
): Promise<string[]> {
  const { buckets, calls } = place;
  const dropped: string[] = [];
  for (const bucket of await calls.run((deadline) => buckets.list('bodies', deadline))) {
    if (!isOver(bucket, bodyDays, now)) continue;
    await calls.run(() => buckets.drop(bucket.name));
    dropped.push(bucket.name);
  }
  const all = await calls.run((deadline) => buckets.list('entries', deadline));
  const over = all.filter((bucket) => isOver(bucket, logDays, now));
  for (let attempt = 1; over.length > 0; attempt++) {
    if (
      await roller.rollWhole(over, (bucket) => calls.run((deadline) => dropEntries(place, bucket, deadline)))
    ) {
      dropped.push(...over.map(({ name }) => name));
      break;
    }
    if (attempt === TRIES) break;
    await sleep(PAUSE_MS);
  }
  await calls.run((deadline) => endDrops(place, deadline));
  dropped.push(...(await dropRollups(place, now - metricDays * DAY_MS)));
  return dropped;
}

/** Marks the roll-ups as complete first, so that concurrent readers take them and not the entries. */
async function dropEntries(place: LogPlace, bucket: Bucket, deadline: Deadline): Promise<void> {
  await markDropping(place, bucket.name, deadline);
  await place.buckets.drop(bucket.name);
  await markDropped(place, bucket, deadline);
}

/** Completes drops that were interrupted between dropping the bucket and recording it. */
async function endDrops(place: LogPlace, deadline: Deadline): Promise<void> {
  const there = new Set((await place.buckets.list('entries', deadline)).map(({ name }) => name));
  for (const [name, { dropping }] of await rolledBuckets(place, deadline)) {
    const bucket = bucketNamed('entries', name);
    if (dropping && bucket && !there.has(name)) await markDropped(place, bucket, deadline);
  }
}

/** Months that were over by a time. */
async function dropRollups(place: LogPlace, before: number): Promise<string[]> {
  const { calls, buckets } = place;
  const months = await calls.run((deadline) => rollupCollections(place, 0, Math.max(0, before), deadline));
  const over = months.filter((name) => monthOf(name).until <= before);
  const last = over.at(-1);
  for (const name of over) await calls.run(() => buckets.drop(name));
  if (last !== undefined) await calls.run((deadline) => forgetRolled(place, monthOf(last).until, deadline));
  return over;
}
