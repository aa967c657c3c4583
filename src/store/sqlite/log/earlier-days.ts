// Whether the log has anything of a day that is over: without it nothing can have expired, and no roll-ups are missing.
import type { StatementCache } from '../statement-cache.ts';
import { bodyFiles, bucketOfFile } from './body-names.ts';
import { dayOf } from './buckets.ts';

/**
 * Looks at the tail, the list of segments and the names of the files of bodies.
 * @param folder where the buckets are
 * @param now Unix milliseconds
 */
export function hasEarlierDays(cached: StatementCache, folder: string, now: number): boolean {
  const today = dayOf(now);
  const [oldest] = cached('SELECT min(min_time) FROM log_tail').get() as unknown as [number | null];
  if (oldest !== null && dayOf(oldest) < today) return true;
  if (cached('SELECT 1 FROM log_segments WHERE day < ? LIMIT 1').get(today) !== undefined) return true;
  return bodyFiles(folder).some((name) => bucketOfFile(name).day < today);
}
