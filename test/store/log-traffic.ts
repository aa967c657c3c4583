// Random traffic, and what may be asked of it: for properties of log stores.
import fc from 'fast-check';
import type { OutcomeRecord, RequestRecord } from '../../src/call/record.ts';
import type { LogAggregation, LogDimension, LogMeasure } from '../../src/store/log/aggregation.ts';
import type { LogFacetsQuestion } from '../../src/store/log/facets.ts';
import type { LogFilter } from '../../src/store/request-log.ts';
import { logEntry } from './log-entries.ts';

const HOUR_MS = 3_600_000;

const some = (prefix: string, count: number): string[] =>
  Array.from({ length: count }, (_, i) => `${prefix}${i}`);
const WORKSPACES = some('ws-', 3);
const KEYS = some('key-', 3);
const PEOPLE = ['u1', 'u2', '', 'ü=1'];
const PROVIDERS = ['openai', 'anthropic'];
const MODELS = ['m1', 'm2', '$m', 'h\ud83d'];
const TRACES = [...some('trace-', 12), '\udc00'];
const STATUSES = [200, 201, 302, 404, 429, 500];
const CACHE = ['HIT', 'SEMANTIC HIT', 'MISS', 'REFRESH'];
const OUTCOMES: readonly OutcomeRecord[] = ['success', 'error', 'cancelled', 'interrupted'];
const COSTS = ['0', '7', '1500000', '9223372036854775807', '9223372036854775808', '123456789012345678901'];
const PAIRS = [
  { env: 'prod' },
  { env: 'test' },
  { 'a=b': 'c' },
  { a: 'b=c' },
  { 'k.$': '%3D' },
  { env: '' },
  { 'k\ud83d': '\u{10fffe}x' },
];
const REASONS = ['upstream_status', 'rate_limited', 'ünï \ud83d', ''];
const TEXTS = ['gpt', 'TRACE-1', 'Kaputt [x]', 'ÜÑÏ', '.*a', '\nh\ud83d', 'prod', 'nothing like it'];

/** Entries of one organisation within `days` days of `begin`. */
export function traffic(
  organisationId: string,
  begin: number,
  days: number,
  count: number,
): fc.Arbitrary<RequestRecord[]> {
  const optional = <T>(arb: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
    fc.option(arb, { nil: undefined });
  // Few of a day's hours, so that there are some in each.
  const hour = fc
    .tuple(fc.nat(days - 1), fc.constantFrom(0, 1, 2, 13, 23))
    .map(([day, of]) => begin + (day * 24 + of) * HOUR_MS);
  const one = fc.record({
    createdAt: fc.oneof(
      fc.tuple(hour, fc.nat(HOUR_MS - 1)).map(([at, ms]) => at + ms),
      hour,
    ),
    workspaceId: fc.constantFrom(...WORKSPACES),
    apiKeyId: fc.constantFrom(...KEYS),
    traceId: fc.constantFrom(...TRACES),
    provider: fc.constantFrom(...PROVIDERS),
    model: fc.constantFrom(...MODELS),
    statusCode: fc.constantFrom(...STATUSES),
    outcome: fc.constantFrom(...OUTCOMES),
    latencyMs: fc.oneof(
      fc.constant(0),
      fc.integer({ min: 0, max: 90_000_000 }).map((us) => us / 1000),
    ),
    timeToFirstTokenMs: optional(
      fc.oneof(
        fc.constant(0),
        fc.integer({ min: 0, max: 90_000_000 }).map((us) => us / 1000),
      ),
    ),
    usage: optional(
      fc.record({
        promptTokens: fc.nat(5000),
        totalTokens: fc.nat(9000),
      }),
    ),
    metadata: fc.tuple(fc.subarray(PAIRS), optional(fc.constantFrom(...PEOPLE))).map(([pairs, user]) => ({
      ...Object.assign({}, ...pairs),
      ...(user === undefined ? {} : { _user: user }),
    })) as fc.Arbitrary<Record<string, string>>,
    cost: optional(fc.constantFrom(...COSTS)),
    saved: optional(fc.constantFrom(...COSTS)),
    promptCacheSaved: optional(fc.constantFrom(...COSTS, '-12')),
    cacheStatus: optional(fc.constantFrom(...CACHE)),
    userId: optional(fc.constantFrom('p1', 'p2')),
    virtualKey: optional(fc.constantFrom('v1', 'v2')),
    config: optional(fc.constantFrom('c1', 'c2')),
    prompt: optional(fc.constantFrom('p1', 'p2')),
    spanId: optional(fc.constantFrom('s1', 's2')),
    targetPath: optional(fc.constantFrom('config.targets[1]', 'config.targets[0].targets[12]')),
    retries: optional(fc.integer({ min: 1, max: 3 })),
    rescued: optional(fc.constant(true as const)),
    keepDays: optional(fc.constant(7)),
    error: optional(fc.constantFrom(...REASONS).map((reason) => ({ reason, message: 'kaputt [X] ünï' }))),
  });
  return fc.array(one, { minLength: count, maxLength: count }).map((all) =>
    all.map((given, i) => {
      const defined = Object.entries(given).filter(([, value]) => value !== undefined);
      const { usage: _, ...bare } = logEntry({ id: `e${i}`, organisationId });
      return { ...bare, ...(Object.fromEntries(defined) as Partial<RequestRecord>) };
    }),
  );
}

/** Filters over such traffic. */
export function filters(begin: number, days: number): fc.Arbitrary<LogFilter> {
  const list = <T>(values: readonly T[]): fc.Arbitrary<T[]> =>
    fc.subarray([...values], { minLength: 1, maxLength: Math.min(3, values.length) });
  const range = <T>(bound: fc.Arbitrary<T>): fc.Arbitrary<{ min?: T; max?: T }> =>
    fc.record({ min: bound, max: bound }, { requiredKeys: [] });
  const time = fc.oneof(
    fc.integer({ min: begin - HOUR_MS, max: begin + (days * 24 + 1) * HOUR_MS }),
    fc.integer({ min: 0, max: days * 24 }).map((hour) => begin + hour * HOUR_MS),
  );
  const members: { [K in keyof LogFilter]-?: fc.Arbitrary<LogFilter[K]> } = {
    from: time,
    until: time,
    statusCodes: list(STATUSES),
    traceIds: list(TRACES),
    ids: list(['e1', 'e5', 'e20', 'none']),
    spanIds: list(['s1', 'none']),
    workspaceIds: list(WORKSPACES),
    apiKeyIds: list(KEYS),
    userIds: list(['p1', 'p2']),
    users: list(PEOPLE),
    providers: list(PROVIDERS),
    models: list(MODELS),
    providerModels: list(PROVIDERS.flatMap((provider) => MODELS.map((model) => ({ provider, model })))),
    virtualKeys: list(['v1', 'v2']),
    configs: list(['c1', 'c2']),
    prompts: list(['p1', 'p2']),
    cacheStatuses: list([...CACHE, 'DISABLED']),
    errorReasons: list([...REASONS, 'none']),
    outcomes: list(OUTCOMES),
    metadata: fc.subarray(PAIRS, { minLength: 1, maxLength: 2 }).map((pairs) => Object.assign({}, ...pairs)),
    cost: range(fc.constantFrom(...COSTS.map(BigInt), -1n, 10n ** 40n)),
    totalTokens: range(fc.nat(9000)),
    promptTokens: range(fc.nat(5000)),
    completionTokens: range(fc.nat(10)),
    latencyMs: range(fc.constantFrom(0, 0.5, 1000, 40_000.001)),
    feedback: fc
      .tuple(
        range(fc.integer({ min: -10, max: 10 })),
        fc.constantFrom({}, { own: { userId: 'p1' } }, { own: { apiKeyId: 'key-1' } }),
      )
      .map(([bounds, own]) => ({ ...bounds, ...own })),
    text: fc.constantFrom(...TEXTS),
  };
  // Of one or two conditions beside the time: with more nothing is found.
  const keys = Object.keys(members).filter((key) => key !== 'from' && key !== 'until') as (keyof LogFilter)[];
  return fc
    .tuple(
      fc.subarray(keys, { maxLength: 2 }),
      fc.constantFrom<(keyof LogFilter)[]>([], ['from'], ['until'], ['from', 'until']),
    )
    .chain(([some, times]) => {
      const chosen = Object.fromEntries([...some, ...times].map((key) => [key, members[key]]));
      return fc.record(chosen as { [key: string]: fc.Arbitrary<unknown> }) as fc.Arbitrary<LogFilter>;
    });
}

const DIMENSIONS: readonly LogDimension[] = [
  ...([
    'workspace',
    'apiKey',
    'userId',
    'user',
    'provider',
    'model',
    'virtualKey',
    'config',
    'prompt',
  ] as const),
  ...(['statusCode', 'cacheStatus', 'retries', 'errorReason'] as const),
  ...[
    { metadata: 'env' },
    { metadata: 'a=b' },
    { metadata: 'k.$' },
    { metadata: 'k\ud83d' },
    { metadata: 'none' },
  ],
];
const MEASURES: readonly LogMeasure[] = [
  ...(['requests', 'cost', 'totalTokens', 'errors', 'lastSeen', 'firstSeen', 'group'] as const),
];

/** Fields whose values may be counted. */
export const facetsQuestions: fc.Arbitrary<LogFacetsQuestion> = fc.record({
  by: fc.uniqueArray(fc.constantFrom(...DIMENSIONS), { maxLength: 16, selector: (of) => JSON.stringify(of) }),
  take: fc.constantFrom(0, 1, 2, 50),
  names: fc.constant(500),
});

/** What may be summed. */
export const aggregations: fc.Arbitrary<LogAggregation> = fc.record(
  {
    bucketMs: fc.constantFrom(60_000, 300_000, HOUR_MS, 6 * HOUR_MS, 24 * HOUR_MS),
    by: fc.uniqueArray(fc.constantFrom(...DIMENSIONS), {
      maxLength: 2,
      selector: (of) => JSON.stringify(of),
    }),
    unique: fc.constantFrom(...DIMENSIONS),
    firstTokens: fc.constant(true as const),
    order: fc.record({
      measure: fc.constantFrom(...MEASURES),
      direction: fc.constantFrom('asc' as const, 'desc' as const),
    }),
    skip: fc.nat(3),
    take: fc.integer({ min: 1, max: 10 }),
  },
  { requiredKeys: [] },
);
