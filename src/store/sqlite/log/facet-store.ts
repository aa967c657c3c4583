// The port's facets, over the reading worker.
import { checkFacets } from '../../log/facets.ts';
import { checkLogFilter } from '../../log-filter.ts';
import type { LogStore } from '../../log-store.ts';
import type { WorkerBounds, WorkerClient } from '../worker-client.ts';
import { scopeOf } from './entries.ts';
import type { FacetRows } from './facet-counts.ts';
import type { LogReaderCall } from './protocol.ts';
import { FACETS_MS } from './question-time.ts';

/** @param bounds of other calls: facets have at least their time */
export function facetStore(
  reader: WorkerClient<LogReaderCall>,
  { deadlineMs }: Pick<WorkerBounds, 'deadlineMs'>,
): Pick<LogStore, 'facets'> {
  return {
    facets: async (scope, filter, asked) => {
      const question = checkFacets(asked);
      const call = { kind: 'facets', ...scopeOf(scope), filter: checkLogFilter(filter), question } as const;
      const { values, metadataNames, countedFrom } = await reader.call<FacetRows>(
        call,
        0,
        Math.max(deadlineMs, FACETS_MS),
      );
      const partly = countedFrom === null ? {} : { countedFrom };
      return { facets: values.map((own) => ({ values: own, ...partly })), metadataNames };
    },
  };
}
