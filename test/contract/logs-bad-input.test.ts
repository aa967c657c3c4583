// What must not be asked of the books: on every path, in both families and over each protocol a 4xx that names the field,
// in bounded time.
import { randomUUID } from 'node:crypto';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { createConnectTransport, createGrpcTransport } from '@connectrpc/connect-node';
import test, { type ExecutionContext } from 'ava';
import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { FeedbackService } from '../../gen/gateway/admin/v2/feedback_pb.ts';
import { LogExportsService } from '../../gen/gateway/admin/v2/log_exports_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { withSlack } from '../support/slack.ts';
import { serviceKey } from './logs-books.ts';

/** More than anything refused may take on a busy machine. */
const BOUND_MS = withSlack(20_000);

let gateway: TestGateway;
let own: string;
let elsewhere: string;
test.before(async () => {
  gateway = await startGateway();
  const other = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Elsewhere' } });
  elsewhere = String(other.id);
  own = (await serviceKey(gateway)).key;
});
test.after.always(() => gateway?.close());

const GRAPHS =
  'requests cost latency tokens users users/requests errors errors/rate errors/stacks errors/status-codes ' +
  'requests/rescued cache/hit-rate cache/latency feedbacks feedbacks/scores feedbacks/weighted feedbacks/ai-models ' +
  'users-requests errors-rate errors-stack errors-status-code requests-rescued cache-hit-rate cache-latency feedbacks/score';
const GROUPS =
  'users ai-models workspaces metadata/team ai_service model status_code api_key config workspace provider prompt';
const ANALYTICS = [
  ...GRAPHS.split(' ').map((path) => `/analytics/graphs/${path}`),
  ...GROUPS.split(' ').map((path) => `/analytics/groups/${path}`),
  ...['/analytics/summary/cache', '/logs/groups/model'],
];
const HOUR = {
  time_of_generation_min: '2026-01-31T10:00:00Z',
  time_of_generation_max: '2026-01-31T11:00:00Z',
};

type Query = Readonly<Record<string, string>>;

const many = (count: number): string => Array.from({ length: count }, (_, i) => i).join(',');
const LISTS =
  'trace_id span_id virtual_keys configs api_key_ids prompt_slug ai_org_model cache_status status_code error_reason'.split(
    ' ',
  );

/** Filters that lists, exports and analytics have in common, and which parameter is at fault. */
const FILTERS: readonly (readonly [string, Query])[] = [
  [
    'time_of_generation_max',
    {
      time_of_generation_min: HOUR.time_of_generation_max,
      time_of_generation_max: HOUR.time_of_generation_min,
    },
  ],
  ['time_of_generation_max', { time_of_generation_max: HOUR.time_of_generation_min }],
  ['time_of_generation_min', { time_of_generation_min: '2020-01-01T00:00:00Z' }],
  ['time_of_generation_min', { time_of_generation_min: '0000-01-01T00:00:00Z' }],
  ...['yesterday', '1700000000', '2026-02-30T00:00:00Z', '2026-01-01', '+275760-09-13T00:00:00Z', '\0'].map(
    (time) => ['time_of_generation_min', { time_of_generation_min: time }] as const,
  ),
  ...(['total_units', 'prompt_token', 'completion_token'] as const).flatMap((name) => [
    [`${name}_max`, { [`${name}_min`]: '2', [`${name}_max`]: '1' }] as const,
    [`${name}_min`, { [`${name}_min`]: '-1' }] as const,
    [`${name}_min`, { [`${name}_min`]: '9223372036854775807' }] as const,
  ]),
  ['cost_max', { cost_min: '2', cost_max: '1' }],
  ['cost_min', { cost_min: '-1' }],
  ['cost_min', { cost_min: '10000000000000' }],
  ['weighted_feedback_max', { weighted_feedback_min: '1', weighted_feedback_max: '0' }],
  ['weighted_feedback_max', { weighted_feedback_max: '11' }],
  ...LISTS.flatMap((name) => [
    [name, { [name]: many(5000) }] as const,
    [name, { [name]: ','.repeat(200) }] as const,
    [name, { [name]: `a__b\0` }] as const,
    [name, { [name]: 'x'.repeat(600) }] as const,
  ]),
  ['metadata', { metadata: '{' }],
  ['metadata', { metadata: '[['.repeat(4000) }],
  ['metadata', { metadata: '{"a":{"b":1}}' }],
  ['metadata', { metadata: '{"a":"\\u0000"}' }],
  ['metadata', { metadata: '{"a\\u0000":"b"}' }],
  ['metadata', { metadata: '{"a":"\\ud800"}' }],
  ['metadata', { metadata: JSON.stringify({ a: 'x'.repeat(600) }) }],
];

/** What only a text in a query can say. */
const WRITTEN: readonly (readonly [string, Query])[] = [
  ['colour', { colour: 'blue' }],
  ['status_code[]', { 'status_code[]': '200' }],
  ['constructor', { constructor: '1' }],
  ['__proto__', JSON.parse('{"__proto__":"1"}')],
  ...['NaN', 'Infinity', '1e999', 'abc', ''].map((cost) => ['cost_min', { cost_min: cost }] as const),
  ...['1.5', '1e3', '0x10', '99999999999999999999999'].map(
    (units) => ['total_units_min', { total_units_min: units }] as const,
  ),
];

/** What lists of entries have alone. */
const OF_LISTS: readonly (readonly [string, Query])[] = [
  ...['ab', 'a'.repeat(201), 'a\0b', '\0\0\0'].map((search) => ['search', { search }] as const),
  ...[many(5000), ',,', 'a\0'].flatMap((list) => [
    ['ai_model', { ai_model: list }] as const,
    ['ai_org', { ai_org: list }] as const,
  ]),
];

async function refusedAt(
  t: ExecutionContext,
  path: string,
  query: Query,
  param: string,
  key = ADMIN_KEY,
): Promise<void> {
  const began = performance.now();
  const answer = await fetch(`${gateway.origin}${path}?${new URLSearchParams(query)}`, {
    headers: { 'x-gateway-api-key': key },
  });
  const json = (await answer.json()) as { error?: Json };
  const what = `${path} ${JSON.stringify(query).slice(0, 120)}`;
  t.deepEqual([answer.status, json.error?.param], [400, param], what);
  t.true(performance.now() - began < BOUND_MS, what);
}

const FAMILIES = ['/v1', '/v2'] as const;

for (const [at, family] of FAMILIES.entries()) {
  test(`every path of analytics refuses bad filters, under ${family}`, async (t) => {
    t.timeout(240_000);
    const bads = [...FILTERS, ...WRITTEN];
    // Each path has half of them in each family: all have each.
    for (const [i, path] of ANALYTICS.entries())
      await Promise.all(
        bads
          .filter((_, n) => (n + i) % 2 === at)
          .map(([param, query]) => refusedAt(t, family + path, { ...HOUR, ...query }, param)),
      );
  });

  test(`the list refuses bad filters, under ${family}`, async (t) => {
    for (const [param, query] of [...FILTERS.filter(([, query]) => isWhole(query)), ...WRITTEN, ...OF_LISTS])
      await refusedAt(t, `${family}/logs`, query, param);
    for (const [param, query] of [
      ['page_size', { page_size: '101' }],
      ['current_page', { current_page: '1001', page_size: '100' }],
      ['after', { after: '\0' }],
      ['after', { after: 'x'.repeat(1025) }],
      ['order', { order: 'sideways' }],
    ] as const)
      await refusedAt(t, `${family}/logs`, query, param);
  });

  test(`a foreign workspace is refused on every path, under ${family}`, async (t) => {
    const paths = [...ANALYTICS, '/logs', '/traces/t'];
    for (const foreign of [elsewhere, randomUUID(), '../default', '\0', ''])
      for (const path of paths)
        await refusedAt(
          t,
          family + path,
          {
            ...(path.startsWith('/analytics') || path.includes('groups') ? HOUR : {}),
            workspace_slug: foreign,
          },
          'workspace_slug',
          own,
        );
    for (const path of ['/logs/exports', '/logs/exports/field-restrictions'])
      for (const foreign of [elsewhere, randomUUID(), '\0', ''])
        await refusedAt(t, family + path, { workspace_id: foreign }, 'workspace_id', own);
  });
}

/** Alone it means what it means with an hour around it. */
function isWhole(query: Query): boolean {
  return !('time_of_generation_max' in query) || 'time_of_generation_min' in query;
}

test('a given-twice parameter, orders and pages of analytics', async (t) => {
  const twice = await fetch(`${gateway.origin}/v1/logs?status_code=200&status_code=404`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.deepEqual([twice.status, ((await twice.json()) as { error: Json }).error.param], [400, 'status_code']);
  for (const path of ANALYTICS.filter((path) => !path.includes('summary')))
    for (const [param, query] of [
      ['order_by', { order_by: 'colour' }],
      ['order_by', { order_by: '__proto__' }],
      ['order_by_type', { order_by_type: 'sideways' }],
      ['page_size', { page_size: '0' }],
      ['current_page', { current_page: '-1' }],
    ] as const)
      await refusedAt(t, `/v1${path}`, { ...HOUR, ...query }, param);
  for (const name of ['\0', 'a\0b'])
    await refusedAt(t, `/v1/analytics/groups/metadata/${encodeURIComponent(name)}`, HOUR, 'metadata_key');
  await refusedAt(t, '/v1/analytics/groups/colour', HOUR, 'group_by');
  await refusedAt(t, '/v1/analytics/groups/model', { ...HOUR, columns: many(5000) }, 'columns');
});

test('an address that is longer than all headers may be says so', async (t) => {
  const { status, json } = await send(gateway, 'GET', `/logs?trace_id=${'x,'.repeat(50_000)}x`);
  t.is(status, 431);
  t.regex(String((json.error as Json).message), /65536 bytes/);
});

test('a search is for a text, whatever a pattern or a query it looks like', async (t) => {
  const began = performance.now();
  for (const search of [
    '(a+)+$',
    '.*.*.*.*.*.*.*x',
    '%_%_%',
    `' OR 1=1 --`,
    '{"$where":"sleep(9)"}',
    '\\\\\\',
    '\u202e\u{1f4a9}\u0301',
  ])
    t.deepEqual((await ok(gateway, 'GET', `/logs?search=${encodeURIComponent(search)}`)).data, [], search);
  t.true(performance.now() - began < BOUND_MS);
});

test('an entry, a trace or an export by a name that is none', async (t) => {
  for (const id of ['%00', 'a%00b', '..%2f..', 'a%20b'])
    for (const path of ['/logs/', '/traces/', '/logs/exports/'])
      t.is((await send(gateway, 'GET', path + id)).status, 404, path + id);
  for (const [path, param] of [
    [`/logs/${'x'.repeat(300)}`, 'log_id'],
    [`/traces/${'x'.repeat(300)}`, 'trace_id'],
    [`/logs/exports/${'x'.repeat(300)}`, 'export_id'],
    ['/logs/%E0', 'log_id'],
    ['/logs/x?created_at=%00', 'created_at'],
    ['/logs/x?created_at=%2B275760-09-13T00:00:00Z', 'created_at'],
    ['/logs/x?path_format=v9', 'path_format'],
    ['/traces/x?colour=1', 'colour'],
    ['/logs/exports?status=done', 'status'],
    ['/logs/exports?page_size=1001', 'page_size'],
    ['/logs/exports?current_page=100000&page_size=1000', 'current_page'],
  ] as const) {
    const { status, json } = await send(gateway, 'GET', path);
    t.deepEqual([status, (json.error as Json).param], [400, param], path.slice(0, 60));
  }
});

/** A member of filters as JSON has it: numbers are numbers. */
function member(name: string, text: string): unknown {
  if (name === 'metadata') return JSON.parse(text);
  return /_(min|max)$/.test(name) && !name.startsWith('time') ? Number(text) : text;
}

test('exports refuse bad filters, when they are made and when they are changed', async (t) => {
  const { id } = await ok(gateway, 'POST', '/logs/exports', {
    body: { filters: {}, requested_data: ['id'] },
  });
  const isJson = (query: Query): boolean => {
    const { metadata } = query;
    return metadata === undefined || (metadata.startsWith('{"') && metadata.endsWith('}'));
  };
  for (const [param, query] of [...FILTERS, ...OF_LISTS].filter(
    ([, query]) => isWhole(query) && isJson(query),
  )) {
    const filters = Object.fromEntries(
      Object.entries(query).map(([name, text]) => [name, member(name, text)]),
    );
    const body = { filters, requested_data: ['id'] } as Json;
    for (const [verb, path] of [
      ['POST', '/logs/exports'],
      ['PUT', `/logs/exports/${id}`],
    ] as const) {
      const { status, json } = await send(gateway, verb, path, { body });
      t.deepEqual(
        [status, (json.error as Json).param],
        [400, `filters.${param}`],
        JSON.stringify(filters).slice(0, 90),
      );
    }
  }
  for (const [param, body] of [
    ['filters', { requested_data: ['id'] }],
    ['filters', { filters: [], requested_data: ['id'] }],
    ['filters.colour', { filters: { colour: 1 }, requested_data: ['id'] }],
    ['filters.workspace_slug', { filters: { workspace_slug: '\0' }, requested_data: ['id'] }],
    ['filters.page_size', { filters: { page_size: 0 }, requested_data: ['id'] }],
    ['filters.trace_id', { filters: { trace_id: ['a'] }, requested_data: ['id'] }],
    ['filters.search', { filters: { search: '\ud800abc' }, requested_data: ['id'] }],
    ['requested_data', { filters: {}, requested_data: ['constructor'] }],
    ['requested_data', { filters: {}, requested_data: Array(65).fill('id') }],
    ['description', { filters: {}, requested_data: ['id'], description: 'a\0' }],
    ['description', { filters: {}, requested_data: ['id'], description: '\ud800' }],
    ['workspace_id', { filters: {}, requested_data: ['id'], workspace_id: elsewhere }],
  ] as const) {
    const { status, json } = await send(gateway, 'POST', '/logs/exports', { body: body as Json, key: own });
    t.deepEqual([status, (json.error as Json).param], [400, param], JSON.stringify(body).slice(0, 90));
  }
  for (const [verb, rest] of [
    ['GET', ''],
    ['PUT', ''],
    ['POST', '/start'],
    ['POST', '/cancel'],
    ['GET', '/download'],
  ] as const) {
    const body = verb === 'GET' ? {} : { body: verb === 'PUT' ? { filters: {} } : {} };
    t.is((await send(gateway, verb, `/logs/exports/%00${rest}`, body)).status, 404, rest);
    t.is((await send(gateway, verb, `/logs/exports/${id}${rest}`, { ...body, key: own })).status, 404, rest);
  }
});

test('feedback and logs that are told refuse what they cannot keep', async (t) => {
  const said = { request: { url: '/x', body: {} }, response: { body: {} } };
  const feedback = { trace_id: 't', value: 1 };
  const pairs = Object.fromEntries(Array.from({ length: 65 }, (_, i) => [`k${i}`, 'v']));
  for (const [verb, path, body, param] of [
    ['POST', '/feedback', { ...feedback, trace_id: '\0' }, 'trace_id'],
    ['POST', '/feedback', { ...feedback, trace_id: '\ud800' }, 'trace_id'],
    ['POST', '/feedback', { ...feedback, value: 1e300 }, 'value'],
    ['POST', '/feedback', { ...feedback, weight: 'NaN' }, 'weight'],
    ['POST', '/feedback', { ...feedback, metadata: pairs }, 'metadata'],
    ['POST', '/feedback', { ...feedback, metadata: { a: 'x'.repeat(3000) } }, 'metadata.a'],
    ['POST', '/feedback', Array(1001).fill(feedback), null],
    ['POST', '/feedback', [[]], null],
    ['PUT', '/feedback/x', { value: 11 }, 'value'],
    ['PUT', '/feedback/x', { value: 1, weight: -1 }, 'weight'],
    ['PUT', '/feedback/x', { value: 1, score: 1 }, 'score'],
    ['POST', '/logs', { ...said, request: { url: 'x'.repeat(3000), body: {} } }, 'request.url'],
    ['POST', '/logs', { ...said, metadata: { traceId: '\0' } }, 'metadata.traceId'],
    ['POST', '/logs', { ...said, metadata: pairs }, 'metadata'],
    ['POST', '/logs', { ...said, response: { body: {}, status: 99 } }, 'response.status'],
    ['POST', '/logs', { ...said, response: { body: {}, response_time: 1e300 } }, 'response.response_time'],
    ['POST', '/logs', Array(1001).fill(said), null],
  ] as const) {
    const { status, json } = await send(gateway, verb, path, {
      body: body as unknown as Json,
      key: WORKSPACE_KEY,
    });
    const found = (json.error as Json).param || null;
    t.deepEqual([status, found], [400, param], `${path} ${JSON.stringify(body).slice(0, 90)}`);
  }
});

for (const [name, transport] of [
  ['gRPC', createGrpcTransport],
  ['Connect', (options: { baseUrl: string }) => createConnectTransport({ ...options, httpVersion: '1.1' })],
] as const)
  test(`what only a binary message can say is refused, too: ${name}`, async (t) => {
    const at = transport({ baseUrl: gateway.origin });
    const headers = { 'x-gateway-api-key': ADMIN_KEY };
    const [logs, exports, graphs] = [
      createClient(LogsService, at),
      createClient(LogExportsService, at),
      createClient(AnalyticsGraphsService, at),
    ];
    const time = {
      timeOfGenerationMin: HOUR.time_of_generation_min,
      timeOfGenerationMax: HOUR.time_of_generation_max,
    };
    const refused = async (call: Promise<unknown>, field: RegExp): Promise<void> => {
      const error = await t.throwsAsync(call);
      t.is(ConnectError.from(error).code, Code.InvalidArgument, String(error));
      t.regex(String(error), field);
    };
    for (const [bad, field] of [
      [{ costMin: Number.NaN }, /cost_min/],
      [{ costMax: Number.POSITIVE_INFINITY }, /cost_max/],
      [{ costMin: -0.1 }, /cost_min/],
      [{ weightedFeedbackMin: Number.NaN }, /weighted_feedback_min/],
      [{ totalUnitsMin: 9223372036854775807n }, /total_units_min/],
      [{ totalUnitsMin: 2n, totalUnitsMax: 1n }, /total_units_max/],
      [{ traceId: 'a\0' }, /trace_id/],
      [{ traceId: many(5000) }, /trace_id/],
      [{ statusCode: '2xx' }, /status_code/],
      [{ timeOfGenerationMin: '2020-01-01T00:00:00Z' }, /time_of_generation_min/],
      [{ workspaceSlug: '\0' }, /workspace_slug/],
      [{ workspaceSlug: randomUUID() }, /workspace_slug/],
    ] as const) {
      await refused(logs.listLogs({ ...time, ...bad }, { headers }), field);
      await refused(graphs.getFeedbackGraph({ ...time, ...bad }, { headers }), field);
      await refused(exports.createLogExport({ filters: bad, requestedData: ['id'] }, { headers }), field);
    }
    await refused(logs.listLogs({ order: 99 as never }, { headers }), /order/);
    await refused(logs.listLogs({ metadata: '{"a":"\\ud800"}' }, { headers }), /metadata/);
    await refused(graphs.getCostGraph({ ...time, orderByType: 99 as never }, { headers }), /order_by_type/);
    const feedback = createClient(FeedbackService, at);
    const input = { traceId: 't', value: 1, weight: Number.NaN };
    await refused(
      feedback.createFeedback(
        { feedback: { case: 'one', value: input } },
        { headers: { 'x-gateway-api-key': WORKSPACE_KEY } },
      ),
      /weight/,
    );
  });
