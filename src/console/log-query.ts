// The address' members as filters of the log: pages that show entries and sums of them share them.
import { timeOf } from './figures.ts';
import { href, query } from './router.ts';

/** Members of the address, and the filters that they are. */
export const FILTERS = {
  status: 'statusCode',
  model: 'aiModel',
  provider: 'aiOrg',
  key: 'apiKeyIds',
  workspace: 'workspaceSlug',
  config: 'configs',
  virtual_key: 'virtualKeys',
  prompt: 'promptSlug',
  cache: 'cacheStatus',
  error_reason: 'errorReason',
  trace: 'traceId',
  metadata: 'metadata',
  q: 'search',
} as const;

export type FilterName = keyof typeof FILTERS;

/** A value as lists of values have it. */
export function listed(value: string): string {
  return value.replaceAll(',', '\\,');
}

/** What the address filters by, without times. */
export function filtersOf(params: URLSearchParams): Partial<Record<(typeof FILTERS)[FilterName], string>> {
  const given = Object.entries(FILTERS).flatMap(([name, field]) => {
    const value = params.get(name)?.trim();
    return value ? [[field, value] as const] : [];
  });
  return Object.fromEntries(given);
}

export function timesOf(params: URLSearchParams): {
  timeOfGenerationMin?: string;
  timeOfGenerationMax?: string;
} {
  const [from, to] = [timeOf(params.get('from')), timeOf(params.get('to'))];
  return { ...(from && { timeOfGenerationMin: from }), ...(to && { timeOfGenerationMax: to }) };
}

/** Members of the address that say how sums are shown, and nothing of entries. */
export const NOT_OF_THE_LOG = {
  by: '',
  member: '',
  compare: '',
  measure: '',
  month: '',
  team: '',
  tables: '',
} as const;

/** A link to entries: what the address filters by, and more. */
export function entriesHref(more: Readonly<Record<string, string>>): string {
  const given = Object.fromEntries(query.value);
  const { metadata } = more;
  return href('/logs', {
    ...given,
    ...more,
    ...(metadata && { metadata: bothOf(given.metadata ?? '', metadata) }),
  });
}

/** Members of metadata that the address asks for, and more. */
function bothOf(given: string, more: string): string {
  try {
    return JSON.stringify({ ...JSON.parse(given), ...JSON.parse(more) });
  } catch {
    return more;
  }
}
