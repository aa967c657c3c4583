// Which entries of the books a request means: the query parameters that logs, exports and analytics have in common.
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { amountOfCents } from '../../ledger/prices/cents.ts';
import { invalidField } from '../../lib/errors.ts';
import type { LogFilter, LogRange } from '../../store/request-log.ts';
import { defined } from '../kit/patch.ts';
import { optionalTime } from '../kit/time.ts';
import { type LogReachDeps, narrowed, ownCalls, workspaceOfLogs } from './reach.ts';
import { searchable } from './text.ts';

/** Times are ISO 8601 with offset, costs US cents, lists texts with commas, metadata a JSON object as text. */
export interface LogQuery {
  /** Inclusive. */
  readonly timeOfGenerationMin?: string | undefined;
  /** Exclusive. */
  readonly timeOfGenerationMax?: string | undefined;
  readonly totalUnitsMin?: bigint | undefined;
  readonly totalUnitsMax?: bigint | undefined;
  readonly promptTokenMin?: bigint | undefined;
  readonly promptTokenMax?: bigint | undefined;
  readonly completionTokenMin?: bigint | undefined;
  readonly completionTokenMax?: bigint | undefined;
  readonly costMin?: number | undefined;
  readonly costMax?: number | undefined;
  readonly weightedFeedbackMin?: number | undefined;
  readonly weightedFeedbackMax?: number | undefined;
  readonly statusCode?: string | undefined;
  readonly aiModel?: string | undefined;
  readonly aiOrg?: string | undefined;
  /** `provider__model`. */
  readonly aiOrgModel?: string | undefined;
  readonly virtualKeys?: string | undefined;
  readonly configs?: string | undefined;
  readonly apiKeyIds?: string | undefined;
  readonly promptSlug?: string | undefined;
  readonly traceId?: string | undefined;
  readonly spanId?: string | undefined;
  readonly cacheStatus?: string | undefined;
  readonly errorReason?: string | undefined;
  readonly metadata?: string | undefined;
  /** A workspace's slug or id. */
  readonly workspaceSlug?: string | undefined;
  /** Part of an id, a path, a model, an error's message or a metadata value. */
  readonly search?: string | undefined;
}

/** Whose entries, and which of them. */
export interface LogSelection {
  readonly scope: TenantScope;
  readonly filter: LogFilter;
}

/** What reading a filter needs. */
export interface LogFilterDeps extends LogReachDeps {
  /** Unix milliseconds. */
  readonly now: () => number;
}

const MAX_VALUES = 100;
const MAX_VALUE_LENGTH = 512;
const MAX_PAIRS = 10;
const DAY_MS = 86_400_000;
/** Requires more than the roll-ups hold. */
export const MAX_RANGE_DAYS = 400;
export const CACHE_STATUSES: readonly string[] = [
  'HIT',
  'SEMANTIC HIT',
  'MISS',
  'SEMANTIC MISS',
  'REFRESH',
  'DISABLED',
];

/**
 * What a caller asks for and may see: its workspace or the one it names, and where the security settings show people
 * their own calls alone, those.
 * @throws GatewayError validation_failed, naming the parameter, for values that cannot be read.
 */
export async function logSelection(
  deps: LogFilterDeps,
  principal: Principal,
  query: LogQuery,
): Promise<LogSelection> {
  const workspaceId = await workspaceOfLogs(deps, principal, query.workspaceSlug);
  const filter = logFilter(query, deps.now());
  return {
    scope: { organisationId: principal.organisationId, workspaceId },
    filter: narrowed(filter, ownCalls(deps.directory, principal, filter)),
  };
}

/** The filter of a query, its workspace left out. @throws GatewayError validation_failed. */
export function logFilter(query: LogQuery, now: number): LogFilter {
  // Stores take every member that is there for a condition.
  return defined<LogFilter>({
    ...timesOf(query, now),
    statusCodes: statusesOf(query.statusCode),
    models: listOf('ai_model', query.aiModel),
    providers: listOf('ai_org', query.aiOrg),
    providerModels: pairsOf(query.aiOrgModel),
    virtualKeys: listOf('virtual_keys', query.virtualKeys),
    configs: listOf('configs', query.configs),
    apiKeyIds: listOf('api_key_ids', query.apiKeyIds),
    prompts: listOf('prompt_slug', query.promptSlug),
    traceIds: listOf('trace_id', query.traceId),
    spanIds: listOf('span_id', query.spanId),
    cacheStatuses: cacheStatusesOf(query.cacheStatus),
    errorReasons: listOf('error_reason', query.errorReason),
    metadata: metadataOf(query.metadata),
    cost: costOf(query.costMin, query.costMax),
    totalTokens: tokensOf('total_units', query.totalUnitsMin, query.totalUnitsMax),
    promptTokens: tokensOf('prompt_token', query.promptTokenMin, query.promptTokenMax),
    completionTokens: tokensOf('completion_token', query.completionTokenMin, query.completionTokenMax),
    feedback: rangeOf('weighted_feedback', query.weightedFeedbackMin, query.weightedFeedbackMax, -10, 10),
    text: textOf(query.search),
  });
}

function timesOf(query: LogQuery, now: number): Pick<LogFilter, 'from' | 'until'> {
  const from = optionalTime('time_of_generation_min', query.timeOfGenerationMin);
  const until = optionalTime('time_of_generation_max', query.timeOfGenerationMax);
  if (from === undefined) return until === undefined ? {} : { until: inStore(until) };
  if (until !== undefined && from >= until)
    throw invalidField('time_of_generation_max', 'must be after time_of_generation_min');
  if ((until ?? now) - from > MAX_RANGE_DAYS * DAY_MS)
    throw invalidField('time_of_generation_min', `must not be over ${MAX_RANGE_DAYS} days before the end`);
  return until === undefined ? { from: inStore(from) } : { from: inStore(from), until: inStore(until) };
}

/** Nothing is older than 1970, and stores take no negative times. */
function inStore(time: number): number {
  return Math.max(0, time);
}

/** Values separated by commas, one within a value is `\,`; undefined stays. @throws GatewayError validation_failed. */
function listOf(field: string, text: string | undefined): readonly string[] | undefined {
  if (text === undefined) return undefined;
  const values = [...new Set(text.split(/(?<!\\),/).map((value) => value.trim().replaceAll('\\,', ',')))];
  if (values.length > MAX_VALUES) throw invalidField(field, `must hold at most ${MAX_VALUES} values`);
  for (const value of values) {
    searchable(field, value);
    if (value === '') throw invalidField(field, 'must not hold an empty value');
    if (value.length > MAX_VALUE_LENGTH)
      throw invalidField(field, `must not hold a value of over ${MAX_VALUE_LENGTH} characters`);
  }
  return values;
}

function statusesOf(text: string | undefined): readonly number[] | undefined {
  return listOf('status_code', text)?.map((value) => {
    if (!/^[1-9]\d{2}$/.test(value))
      throw invalidField('status_code', 'must be HTTP statuses with commas between');
    return Number(value);
  });
}

function pairsOf(text: string | undefined): LogFilter['providerModels'] {
  return listOf('ai_org_model', text)?.map((value) => {
    const [, provider = '', model = ''] = /^(.+?)__(.+)$/.exec(value) ?? [];
    if (model === '')
      throw invalidField('ai_org_model', 'must be provider__model, several with commas between');
    return { provider, model };
  });
}

/** In any case, and with any of the signs between words that their names have elsewhere. */
function cacheStatusesOf(text: string | undefined): readonly string[] | undefined {
  return listOf('cache_status', text)?.map((value) => {
    const name = value.toUpperCase().replaceAll(/[_-]/g, ' ');
    if (!CACHE_STATUSES.includes(name))
      throw invalidField('cache_status', `must be of ${CACHE_STATUSES.join(', ')}`);
    return name;
  });
}

function metadataOf(text: string | undefined): LogFilter['metadata'] {
  if (text === undefined) return undefined;
  const wrong = (what: string): Error => invalidField('metadata', what);
  let given: unknown;
  try {
    given = JSON.parse(text);
  } catch {
    throw wrong('must be a JSON object');
  }
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw wrong('must be a JSON object');
  const pairs = Object.entries(given);
  if (pairs.length === 0) return undefined;
  if (pairs.length > MAX_PAIRS) throw wrong(`must hold at most ${MAX_PAIRS} members`);
  return Object.fromEntries(
    pairs.map(([key, value]) => {
      // Metadata is text; a filter by a number or a boolean means its text.
      if (!['string', 'number', 'boolean'].includes(typeof value))
        throw wrong('must hold texts, numbers and truth values only');
      if (key.length > MAX_VALUE_LENGTH || String(value).length > MAX_VALUE_LENGTH)
        throw wrong(`must not hold a name or a value of over ${MAX_VALUE_LENGTH} characters`);
      return [searchable('metadata', key), searchable('metadata', String(value))];
    }),
  );
}

function costOf(min: number | undefined, max: number | undefined): LogFilter['cost'] {
  const range = rangeOf('cost', min, max, 0, 1e12);
  return (
    range &&
    defined<LogRange<bigint>>({
      min: range.min === undefined ? undefined : amountOfCents(range.min, 'up'),
      max: range.max === undefined ? undefined : amountOfCents(range.max, 'down'),
    })
  );
}

function tokensOf(name: string, min: bigint | undefined, max: bigint | undefined): LogFilter['totalTokens'] {
  const number = (value: bigint | undefined): number | undefined =>
    value === undefined ? undefined : Number(value);
  return rangeOf(name, number(min), number(max), 0, Number.MAX_SAFE_INTEGER);
}

/** @param name the parameters' name without `_min` and `_max` */
function rangeOf(
  name: string,
  min: number | undefined,
  max: number | undefined,
  lowest: number,
  highest: number,
): LogRange<number> | undefined {
  for (const [end, value] of [
    ['min', min],
    ['max', max],
  ] as const)
    if (value !== undefined && !(value >= lowest && value <= highest))
      throw invalidField(`${name}_${end}`, `must be between ${lowest} and ${highest}`);
  if (min !== undefined && max !== undefined && min > max)
    throw invalidField(`${name}_max`, `must not be below ${name}_min`);
  if (min === undefined && max === undefined) return undefined;
  return defined<LogRange<number>>({ min, max });
}

function textOf(text: string | undefined): string | undefined {
  if (text === undefined) return undefined;
  if (text.length < 3 || text.length > 200) throw invalidField('search', 'must have 3 to 200 characters');
  return searchable('search', text);
}
