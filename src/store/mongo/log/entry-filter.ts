// A checked log filter as MongoDB's, over the members of rows. Every text of a caller is a plain value in it.
import mongoose from 'mongoose';
import type { LogFilter } from '../../request-log.ts';
import type { Filter } from '../page-filter.ts';
import { pairText } from './entry-row.ts';
import { keptText } from './kept-text.ts';

/** Whose entries; the workspace is null for the whole organisation. */
export interface CheckedScope {
  readonly organisationId: string;
  readonly workspaceId: string | null;
}

export interface EntryMatch {
  /** Whose entries and which, without the time. */
  readonly filter: Filter;
  /** The index that leads to them, and the part of the filter that it answers. */
  readonly lead: { readonly index: string; readonly filter: Filter };
  /** The lead's index answers the filter as a whole. */
  readonly exact: boolean;
}

/** Members that a list of values is about, and their indexes, the most telling first. */
const LISTS = [
  ['ids', 'id', 'by_id'],
  ['traceIds', 'traceId', 'by_trace'],
  ['spanIds', 'spanId', 'by_span'],
  ['prompts', 'prompt', 'by_prompt'],
  ['configs', 'config', 'by_config'],
  ['userIds', 'userId', 'by_user'],
  ['virtualKeys', 'virtualKey', 'by_virtual_key'],
  ['apiKeyIds', 'apiKeyId', 'by_key'],
  ['errorReasons', 'errorReason', 'by_error'],
  ['models', 'model', 'by_model'],
  ['workspaceIds', 'workspaceId', 'by_workspace'],
  ['providers', 'provider', 'by_provider'],
  ['statusCodes', 'statusCode', 'by_status'],
] as const;
const RANGES = ['totalTokens', 'promptTokens', 'completionTokens', 'latencyMs'] as const;

/** @param prefix before the members' names, where they are in a part of the document. */
export function entryMatch(scope: CheckedScope, filter: LogFilter, prefix = ''): EntryMatch {
  const all: Condition[] = [];
  if (scope.workspaceId !== null) {
    all.push({ filter: { [`${prefix}workspaceId`]: scope.workspaceId }, index: 'by_workspace' });
  }
  for (const [list, member, index] of LISTS) {
    const values = filter[list];
    if (values !== undefined) all.push({ filter: { [prefix + member]: oneOf(values) }, index });
  }
  all.push(...pairConditions(filter, prefix), ...otherConditions(filter, prefix));
  return matchOf({ organisationId: scope.organisationId }, all);
}

interface Condition {
  readonly filter: Filter;
  /** That answers it. */
  readonly index?: string;
}

function matchOf(tenant: Filter, all: readonly Condition[]): EntryMatch {
  const ranked = all.filter(({ index }) => index !== undefined).sort((a, b) => rank(a) - rank(b));
  const lead = ranked[0] ?? { filter: {}, index: 'by_organisation' };
  const exact = all.length === 0 || (all.length === 1 && ranked.length === 1);
  return {
    filter: all.length === 1 ? { ...tenant, ...all[0]?.filter } : { ...tenant, ...allOf(all) },
    lead: { index: lead.index ?? 'by_organisation', filter: { ...tenant, ...lead.filter } },
    exact,
  };
}

function allOf(all: readonly Condition[]): Filter {
  return all.length === 0 ? {} : { $and: all.map(({ filter }) => filter) };
}

const RANKED: readonly string[] = [
  ...['by_id', 'by_trace', 'by_span', 'by_metadata', 'by_prompt', 'by_config', 'by_user', 'by_virtual_key'],
  ...['by_key', 'by_error', 'by_model', 'by_workspace', 'by_cache', 'by_provider', 'by_status'],
];

function rank({ index }: Condition): number {
  return RANKED.indexOf(index ?? '');
}

/** Pairs: of metadata, of the user in it, of provider and model. */
function pairConditions({ metadata, users, providerModels }: LogFilter, prefix: string): Condition[] {
  const conditions: Condition[] = [];
  const member = `${prefix}metadata`;
  for (const [key, value] of Object.entries(metadata ?? {})) {
    conditions.push({ filter: { [member]: pairText(key, value) }, index: 'by_metadata' });
  }
  if (users !== undefined) {
    const pairs = users.map((user) => pairText('_user', user));
    const wanted = pairs.length === 1 ? pairs[0] : { $in: pairs };
    conditions.push({ filter: { [member]: wanted }, index: 'by_metadata' });
  }
  if (providerModels !== undefined) {
    const models = providerModels.map(({ model }) => model);
    conditions.push({ filter: { [`${prefix}model`]: oneOf(models) }, index: 'by_model' });
    const pairs = providerModels.map(({ provider, model }) => ({
      [`${prefix}provider`]: keptText(provider),
      [`${prefix}model`]: keptText(model),
    }));
    conditions.push({ filter: { $or: pairs } });
  }
  return conditions;
}

/** Of few values, of ranges, of text. */
function otherConditions(filter: LogFilter, prefix: string): Condition[] {
  const conditions: Condition[] = [];
  const { cacheStatuses, outcomes, cost, text } = filter;
  if (cacheStatuses?.includes('DISABLED')) {
    conditions.push({ filter: { [`${prefix}cacheStatus`]: { $in: [...cacheStatuses, null] } } });
  } else if (cacheStatuses !== undefined) {
    conditions.push({ filter: { [`${prefix}cacheStatus`]: oneOf(cacheStatuses) }, index: 'by_cache' });
  }
  if (outcomes !== undefined) conditions.push({ filter: { [`${prefix}outcome`]: oneOf(outcomes) } });
  if (cost !== undefined) {
    conditions.push({
      filter: { [`${prefix}cost`]: rangeOf({ min: money(cost.min), max: money(cost.max) }) },
    });
  }
  for (const member of RANGES) {
    const range = filter[member];
    if (range !== undefined) conditions.push({ filter: { [prefix + member]: rangeOf(range) } });
  }
  if (text !== undefined) {
    conditions.push({ filter: { [`${prefix}text`]: { $regex: literally(keptText(text.toLowerCase())) } } });
  }
  return conditions;
}

/** One value as itself, which says the same and which every planner knows as an equality. */
function oneOf(values: readonly (string | number)[]): unknown {
  const kept = values.map((value) => (typeof value === 'string' ? keptText(value) : value));
  return kept.length === 1 ? kept[0] : { $in: kept };
}

function rangeOf({ min, max }: { readonly min?: unknown; readonly max?: unknown }): Filter {
  return {
    // A range without bounds matches every number.
    $type: 'number',
    ...(min === undefined ? {} : { $gte: min }),
    ...(max === undefined ? {} : { $lte: max }),
  };
}

/** Beyond all money on either side where it is out of the server's numbers. */
function money(amount: bigint | undefined): unknown {
  if (amount === undefined) return undefined;
  if (amount > 10n ** 33n) return Number.POSITIVE_INFINITY;
  if (amount < -(10n ** 33n)) return Number.NEGATIVE_INFINITY;
  return mongoose.mongo.Decimal128.fromString(String(amount));
}

/** A pattern that matches exactly this text. */
function literally(text: string): string {
  return text.replace(/[\\^$.|?*+()[\]{}]/g, '\\$&').replaceAll('\0', '\\x00');
}

/** A range of times, over the member of time. */
export function timesOf(from: number | undefined, until: number | undefined): Filter | undefined {
  if (from === undefined && until === undefined) return undefined;
  return {
    ...(from === undefined ? {} : { $gte: from }),
    ...(until === undefined ? {} : { $lt: until }),
  };
}
