// The roll-ups that are kept: for each hour, by a few dimensions together, always by the workspace.

import type { RequestRecord } from '../../../call/record.ts';
import type { LogAggregation, LogDimension } from '../../log/aggregation.ts';
import type { LogFilter } from '../../request-log.ts';
import type { CheckedScope } from './entry-filter.ts';
import { keptText, textOfKept } from './kept-text.ts';

/** A dimension of roll-ups. A user is `=` and its name; '' is an entry without one. */
export type KeptDimension = Exclude<LogDimension, object>;

export interface Rollup {
  /** As it is stored. */
  readonly name: string;
  readonly by: readonly KeptDimension[];
}

function rollup(...by: KeptDimension[]): Rollup {
  const all: KeptDimension[] = ['workspace', ...by];
  return { name: all.join('+'), by: all };
}

/** The smallest first. A new one answers for the hours that are added up after it. */
export const ROLLUPS: readonly Rollup[] = [
  rollup(),
  rollup('statusCode'),
  rollup('cacheStatus'),
  rollup('retries'),
  rollup('provider', 'model'),
  rollup('apiKey'),
  rollup('virtualKey'),
  rollup('config'),
  rollup('prompt'),
  rollup('provider', 'model', 'statusCode'),
  rollup('apiKey', 'provider', 'model'),
  rollup('userId'),
  rollup('user'),
];

/** All dimensions of the roll-ups. */
export const KEPT: readonly KeptDimension[] = [...new Set(ROLLUPS.flatMap(({ by }) => by))];

/** What an aggregation reads of stored roll-ups. */
export interface RollupQuery {
  readonly rollup: Rollup;
  /** Whether a row matches, by its values. */
  readonly meant: (values: readonly string[]) => boolean;
  /** The group of a row; undefined when it is in none. */
  readonly groupOf: (values: readonly string[]) => string[] | undefined;
  /** The row's value of `unique`; '' is none. */
  readonly uniqueOf: (values: readonly string[]) => string;
}

const LISTS = {
  statusCodes: 'statusCode',
  workspaceIds: 'workspace',
  apiKeyIds: 'apiKey',
  userIds: 'userId',
  users: 'user',
  providers: 'provider',
  models: 'model',
  virtualKeys: 'virtualKey',
  configs: 'config',
  prompts: 'prompt',
  cacheStatuses: 'cacheStatus',
} as const satisfies Partial<Record<keyof LogFilter, KeptDimension>>;
type Listed = keyof typeof LISTS;
/** Entries without a value are under '' there, but a filter for '' does not match them. */
const MAY_LACK: ReadonlySet<string> = new Set([
  'userIds',
  'virtualKeys',
  'configs',
  'prompts',
  'cacheStatuses',
]);
const HOUR_MS = 3_600_000;

/** The roll-up that answers, and how; undefined when entries must be read. */
export function rollupQuery(
  { workspaceId }: CheckedScope,
  filter: LogFilter,
  { bucketMs, by = [], unique }: LogAggregation,
): RollupQuery | undefined {
  if (bucketMs !== undefined && bucketMs % HOUR_MS !== 0) return undefined;
  const wanted = new Set<KeptDimension>(workspaceId === null ? [] : ['workspace']);
  const allowed: (readonly [KeptDimension, ReadonlySet<string>])[] = [];
  if (workspaceId !== null) allowed.push(['workspace', new Set([workspaceId])]);
  for (const [member, values] of Object.entries(filter)) {
    if (member === 'from' || member === 'until' || values === undefined) continue;
    if (member === 'providerModels') {
      wanted.add('provider').add('model');
      continue;
    }
    if (!Object.hasOwn(LISTS, member)) return undefined;
    const list = (filter[member as Listed] ?? []).map((value) => keptText(String(value)));
    if (MAY_LACK.has(member) && list.includes('')) return undefined;
    const dimension = LISTS[member as Listed];
    wanted.add(dimension);
    allowed.push([dimension, new Set(keptValues(dimension, list))]);
  }
  for (const dimension of unique === undefined ? by : [...by, unique]) {
    if (typeof dimension === 'object') return undefined;
    wanted.add(dimension);
  }
  const found = ROLLUPS.find((one) => [...wanted].every((dimension) => one.by.includes(dimension)));
  return found && queryOf(found, filter, allowed, { by, unique });
}

function queryOf(
  rollup: Rollup,
  { providerModels }: LogFilter,
  allowed: readonly (readonly [KeptDimension, ReadonlySet<string>])[],
  { by = [], unique }: LogAggregation,
): RollupQuery {
  const at = (dimension: LogDimension): number => rollup.by.indexOf(dimension as KeptDimension);
  const checks = allowed.map(([dimension, values]) => ({ at: at(dimension), values }));
  const [provider, model] = [at('provider'), at('model')];
  const pairs = (providerModels ?? []).map((pair) => ({
    provider: keptText(pair.provider),
    model: keptText(pair.model),
  }));
  const groups = by.map((dimension) => ({ at: at(dimension), isUser: dimension === 'user' }));
  const distinct = unique === undefined ? -1 : at(unique);
  return {
    rollup,
    meant: (values) =>
      checks.every((check) => check.values.has(values[check.at] as string)) &&
      (providerModels === undefined ||
        pairs.some((pair) => pair.provider === values[provider] && pair.model === values[model])),
    groupOf: (values) => {
      const group: string[] = [];
      for (const { at: place, isUser } of groups) {
        const value = values[place] as string;
        if (isUser && value === '') return undefined;
        group.push(textOfKept(isUser ? value.slice(1) : value));
      }
      return group;
    },
    uniqueOf: (values) => {
      const value = values[distinct] ?? '';
      return textOfKept(unique === 'user' ? value.slice(1) : value);
    },
  };
}

function keptValues(dimension: KeptDimension, list: readonly string[]): string[] {
  if (dimension === 'user') return list.map((name) => `=${name}`);
  if (dimension === 'cacheStatus' && list.includes('DISABLED' satisfies RequestRecord['cacheStatus'])) {
    return [...list, ''];
  }
  return [...list];
}
