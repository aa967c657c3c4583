// ListLogFacets: what the entries of a time can be filtered by.
import { create } from '@bufbuild/protobuf';
import {
  type ListLogFacetsRequest,
  type LogFacetList,
  LogFacetListSchema,
} from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Call } from '../../call/call.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import type { LogDimension } from '../../store/log/aggregation.ts';
import type { LogStore } from '../../store/log-store.ts';
import { asked } from '../analytics/selection.ts';
import { callerOf } from '../kit/caller.ts';
import { type LogFilterDeps, logSelection } from './filter.ts';

/** By the name that requests have for the filter. */
const FACETS: Readonly<Record<string, LogDimension>> = {
  status_code: 'statusCode',
  ai_model: 'model',
  ai_org: 'provider',
  api_key_ids: 'apiKey',
  virtual_keys: 'virtualKey',
  configs: 'config',
  prompt_slug: 'prompt',
  cache_status: 'cacheStatus',
  error_reason: 'errorReason',
};
const VALUES = 50;
/** Fields that are counted at once: each scan has the store's time for itself, and other callers come in between. */
const AT_ONCE = 2;
const NEWEST = { pageSize: 100, pages: 5 };
const DAY_MS = 86_400_000;

export interface LogFacetsDeps extends LogFilterDeps {
  readonly store: Pick<LogStore, 'aggregate' | 'page'>;
  readonly flush: () => Promise<void>;
}

export async function listLogFacets(
  deps: LogFacetsDeps,
  request: ListLogFacetsRequest,
  call: Call,
): Promise<LogFacetList> {
  const { store, flush, now } = deps;
  const { scope, filter: given } = await logSelection(deps, callerOf(call), request);
  const filter = {
    ...given,
    from: given.from ?? (given.until ?? now()) - DAY_MS,
    until: given.until ?? now() + 1000,
  };
  await flush();
  const order = { measure: 'requests', direction: 'desc' } as const;
  const slots = new Semaphore(AT_ONCE);
  const counted = async (name: string, by: LogDimension) => {
    const { rows } = await asked(
      store.aggregate(scope, filter, { by: [by], order, take: VALUES, latencies: false }),
    );
    const values = rows.map(({ group, rollup }) => ({
      value: group[0] ?? '',
      requests: BigInt(rollup.requests),
    }));
    return { name, values: values.filter(({ value }) => value !== '') };
  };
  const [data, metadataNames] = await Promise.all([
    Promise.all(Object.entries(FACETS).map(([name, by]) => slots.pass(() => counted(name, by)))),
    namesOf(async (after) =>
      asked(
        store.page(scope, filter, {
          page: 0,
          pageSize: NEWEST.pageSize,
          order: 'desc',
          ...(after && { after }),
        }),
      ),
    ),
  ]);
  return create(LogFacetListSchema, { object: 'list', data, metadataNames });
}

/** Names of metadata in the newest pages. */
async function namesOf(read: (after: string | undefined) => ReturnType<LogStore['page']>): Promise<string[]> {
  const names = new Set<string>();
  let after: string | undefined;
  for (let page = 0; page < NEWEST.pages; page++) {
    const { entries, next } = await read(after);
    for (const { metadata } of entries) for (const name of Object.keys(metadata)) names.add(name);
    if (next === undefined) break;
    after = next;
  }
  return [...names].sort();
}
