// How many entries of the request log match, counted to the end.
import type { TenantScope } from '../../call/scope.ts';
import type { LogStore } from '../log-store.ts';
import type { LogFilter } from '../request-log.ts';

/** Sums of roll-ups, where the filter allows. Errors as of `LogStore.aggregate`. */
export async function entryCount(
  store: Pick<LogStore, 'aggregate'>,
  scope: TenantScope,
  filter: LogFilter,
): Promise<number> {
  const { rows } = await store.aggregate(scope, filter, { latencies: false });
  return rows.reduce((sum, { rollup }) => sum + rollup.requests, 0);
}

/** For the progress of long work over an organisation's entries; undefined: they cannot be counted in time. */
export function countedEntries(
  store: Pick<LogStore, 'aggregate'>,
  organisationId: string,
  filter: LogFilter = {},
): Promise<number | undefined> {
  return entryCount(store, { organisationId, workspaceId: undefined }, filter).catch(() => undefined);
}
