// Whether an entry matches a filter: the definition that every adapter is tested against.

import type { RequestRecord } from '../../call/record.ts';
import type { LogFilter, LogRange } from '../request-log.ts';
import type { LogDimension } from './aggregation.ts';

/** All conditions but `feedback`, which is about other records. */
export function matchesLog(filter: LogFilter, entry: RequestRecord): boolean {
  const { from, until, usage, ...lists } = { ...filter, usage: entry.usage };
  if (from !== undefined && entry.createdAt < from) return false;
  if (until !== undefined && entry.createdAt >= until) return false;
  return (
    oneOf(lists.statusCodes, entry.statusCode) &&
    oneOf(lists.traceIds, entry.traceId) &&
    oneOf(lists.ids, entry.id) &&
    oneOf(lists.spanIds, entry.spanId) &&
    oneOf(lists.workspaceIds, entry.workspaceId) &&
    oneOf(lists.apiKeyIds, entry.apiKeyId) &&
    oneOf(lists.userIds, entry.userId) &&
    oneOf(lists.users, ownValue(entry.metadata, '_user')) &&
    oneOf(lists.providers, entry.provider) &&
    oneOf(lists.models, entry.model) &&
    anyPair(lists.providerModels, entry) &&
    oneOf(lists.virtualKeys, entry.virtualKey) &&
    oneOf(lists.configs, entry.config) &&
    oneOf(lists.prompts, entry.prompt) &&
    oneOf(lists.cacheStatuses, entry.cacheStatus ?? 'DISABLED') &&
    oneOf(lists.errorReasons, entry.error?.reason) &&
    oneOf(lists.outcomes, entry.outcome) &&
    allPairs(lists.metadata, entry.metadata) &&
    within(lists.cost, entry.cost === undefined ? 0n : BigInt(entry.cost)) &&
    within(lists.totalTokens, usage?.totalTokens ?? 0) &&
    within(lists.promptTokens, usage?.promptTokens ?? 0) &&
    within(lists.completionTokens, usage?.completionTokens ?? 0) &&
    within(lists.latencyMs, entry.latencyMs) &&
    (lists.text === undefined || textOf(entry).includes(lists.text.toLowerCase()))
  );
}

/** What `text` is looked for in: lower case, a line for each part. */
export function textOf(entry: RequestRecord): string {
  const { id, traceId, path, provider, model, responseModel, error, metadata } = entry;
  return [id, traceId, path, provider, model, responseModel, error?.message ?? '', ...Object.values(metadata)]
    .join('\n')
    .toLowerCase();
}

/** An entry's value of a dimension; undefined when it is in no group of it. */
export function dimensionOf(dimension: LogDimension, entry: RequestRecord): string | undefined {
  if (typeof dimension === 'object') return ownValue(entry.metadata, dimension.metadata);
  switch (dimension) {
    case 'workspace':
      return entry.workspaceId;
    case 'apiKey':
      return entry.apiKeyId;
    case 'userId':
      return entry.userId ?? '';
    case 'user':
      return ownValue(entry.metadata, '_user');
    case 'statusCode':
      return String(entry.statusCode);
    case 'retries':
      return String(entry.retries ?? 0);
    case 'errorReason':
      return entry.error?.reason;
    default:
      return entry[dimension] ?? '';
  }
}

function ownValue(metadata: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(metadata, key) ? metadata[key] : undefined;
}

function oneOf<T>(list: readonly T[] | undefined, value: T | undefined): boolean {
  return list === undefined || (value !== undefined && list.includes(value));
}

function anyPair(pairs: LogFilter['providerModels'], { provider, model }: RequestRecord): boolean {
  return pairs === undefined || pairs.some((pair) => pair.provider === provider && pair.model === model);
}

function allPairs(wanted: LogFilter['metadata'], metadata: Readonly<Record<string, string>>): boolean {
  if (wanted === undefined) return true;
  return Object.entries(wanted).every(([key, value]) => ownValue(metadata, key) === value);
}

function within<T extends number | bigint>(range: LogRange<T> | undefined, value: T): boolean {
  if (range === undefined) return true;
  return (range.min === undefined || value >= range.min) && (range.max === undefined || value <= range.max);
}
