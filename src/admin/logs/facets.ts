// ListLogFacets: what the entries of a time can be filtered by.
import { create } from '@bufbuild/protobuf';
import {
  type ListLogFacetsRequest,
  type LogFacetList,
  LogFacetListSchema,
} from '../../../gen/gateway/admin/v2/logs_pb.ts';
import type { Call } from '../../call/call.ts';
import type { LogDimension } from '../../store/log/aggregation.ts';
import type { LogStore } from '../../store/log-store.ts';
import { asked } from '../analytics/selection.ts';
import { callerOf } from '../kit/caller.ts';
import { timeText } from '../kit/time.ts';
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
const NAMES = 500;
const DAY_MS = 86_400_000;

export interface LogFacetsDeps extends LogFilterDeps {
  readonly store: Pick<LogStore, 'facets'>;
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
  const names = Object.keys(FACETS);
  const { facets, metadataNames } = await asked(
    store.facets(scope, filter, { by: Object.values(FACETS), take: VALUES, names: NAMES }),
  );
  const data = facets.map(({ values, countedFrom }, place) => ({
    name: names[place] ?? '',
    values: values.map(({ value, requests }) => ({ value, requests: BigInt(requests) })),
    ...(countedFrom === undefined ? {} : { countedFrom: timeText(countedFrom) }),
  }));
  return create(LogFacetListSchema, { object: 'list', data, metadataNames: [...metadataNames] });
}
