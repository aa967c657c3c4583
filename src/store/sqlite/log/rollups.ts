// The roll-ups that are kept, by their dimensions. Each one covers all entries; an aggregation reads the smallest one
// that has its dimensions.
import type { LogAggregation } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import { HOUR_MS } from './buckets.ts';
import type { TextName } from './segment-head.ts';

export interface Rollup {
  readonly by: readonly TextName[];
  /** The roll-up that it is added up from, an earlier one in `MADE`; absent: from entries. */
  readonly of?: number;
}

/**
 * By index, which the list of segments refers to: new ones are appended. Rounds that were made before a roll-up was
 * added do not have it.
 */
export const ROLLUPS: readonly Rollup[] = [
  { by: ['workspace'], of: 2 },
  { by: ['workspace', 'statusCode', 'cacheStatus', 'retries'] },
  { by: ['workspace', 'apiKey'], of: 8 },
  { by: ['workspace', 'provider', 'model'] },
  {
    by: [
      ...(['workspace', 'apiKey', 'provider', 'model', 'virtualKey', 'config', 'prompt'] as const),
      ...(['statusCode', 'cacheStatus', 'retries'] as const),
    ],
  },
  { by: [], of: 0 },
  { by: ['statusCode', 'cacheStatus'], of: 1 },
  { by: ['provider', 'model'], of: 3 },
  { by: ['workspace', 'apiKey', 'statusCode'] },
];

/** In the order in which they are made: what others are added up from comes first. */
export const MADE: readonly number[] = [1, 3, 4, 8, 2, 0, 5, 6, 7];

/** The smallest first. */
const READ: readonly number[] = [5, 6, 7, 0, 2, 8, 1, 3, 4];

/** The columns that conditions are checked on; roll-ups have no others. */
const HELD: Readonly<Partial<Record<keyof LogFilter, readonly TextName[]>>> = {
  from: [],
  until: [],
  workspaceIds: ['workspace'],
  apiKeyIds: ['apiKey'],
  providers: ['provider'],
  models: ['model'],
  providerModels: ['provider', 'model'],
  virtualKeys: ['virtualKey'],
  configs: ['config'],
  prompts: ['prompt'],
  statusCodes: ['statusCode'],
  cacheStatuses: ['cacheStatus'],
};

/**
 * The roll-ups that can answer, the smallest first; none: entries must be read.
 * @param workspace whether the aggregation is of one workspace
 */
export function rollupsFor(
  filter: LogFilter,
  { bucketMs, by = [], unique }: LogAggregation,
  workspace: boolean,
): number[] {
  if (bucketMs !== undefined && bucketMs % HOUR_MS !== 0) return [];
  const asked: unknown[] = [...by, ...(unique === undefined ? [] : [unique])];
  if (workspace) asked.push('workspace');
  for (const condition of Object.keys(filter)) {
    asked.push(...(HELD[condition as keyof LogFilter] ?? [undefined]));
  }
  return READ.filter((index) => asked.every((name) => ROLLUPS[index]?.by.some((column) => column === name)));
}
