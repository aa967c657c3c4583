// By what sums are kept beside entries. Each cube has all entries; a question reads the first that has what it asks by,
// and the first are the smallest.
import type { LogAggregation } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import { HOUR_MS } from './buckets.ts';
import type { TextName } from './segment-head.ts';

/** The last one has everything that sums are kept by. */
export const CUBES: readonly (readonly TextName[])[] = [
  ['workspace'],
  ['workspace', 'statusCode', 'cacheStatus', 'retries'],
  ['workspace', 'apiKey'],
  ['workspace', 'provider', 'model'],
  [
    ...(['workspace', 'apiKey', 'provider', 'model', 'virtualKey', 'config', 'prompt'] as const),
    ...(['statusCode', 'cacheStatus', 'retries'] as const),
  ],
];

/** The columns that hold conditions; of others sums know nothing. */
const HELD: Readonly<Partial<Record<keyof LogFilter, readonly TextName[]>>> = {
  ...{ from: [], until: [], workspaceIds: ['workspace'], apiKeyIds: ['apiKey'], providers: ['provider'] },
  ...{ models: ['model'], providerModels: ['provider', 'model'], virtualKeys: ['virtualKey'] },
  ...{ configs: ['config'], prompts: ['prompt'], statusCodes: ['statusCode'] },
  ...{ cacheStatuses: ['cacheStatus'] },
};

/** The cube that can answer; undefined: none can. */
export function cubeFor(
  filter: LogFilter,
  { bucketMs, by = [], unique }: LogAggregation,
): number | undefined {
  if (bucketMs !== undefined && bucketMs % HOUR_MS !== 0) return undefined;
  const asked: unknown[] = [...by, ...(unique === undefined ? [] : [unique])];
  for (const condition of Object.keys(filter)) {
    asked.push(...(HELD[condition as keyof LogFilter] ?? [undefined]));
  }
  const cube = CUBES.findIndex((columns) => asked.every((name) => columns.some((column) => column === name)));
  return cube < 0 ? undefined : cube;
}
