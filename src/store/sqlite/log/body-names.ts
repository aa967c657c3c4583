// The names of the files of bodies: one for each bucket.
import { readdirSync } from 'node:fs';
import { type Bucket, bucketName, dayOf, UNLIMITED } from './buckets.ts';

const FILE = /^bodies-.*\.db$/;

export function bodyFile(bucket: Bucket): string {
  return `bodies-${bucketName(bucket)}.db`;
}

export function bodyFiles(folder: string): string[] {
  return readdirSync(folder).filter((name) => FILE.test(name));
}

/** The names of the files by the day of their bodies. */
export function bodyFileDays(folder: string): ReadonlyMap<number, readonly string[]> {
  return Map.groupBy(bodyFiles(folder), (name) => bucketOfFile(name).day);
}

/** The bucket that a file is named after. */
export function bucketOfFile(name: string): Bucket {
  const [, date = '', keep] = /^bodies-(.*?)(?:\.(-?\d+)d)?\.db$/.exec(name) ?? [];
  const day = date.startsWith('day') ? Number(date.slice(3)) : dayOf(Date.parse(date));
  return { day, keep: keep === undefined ? UNLIMITED : Number(keep) };
}
