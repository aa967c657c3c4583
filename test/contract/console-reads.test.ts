// What the console reads, over every protocol: entries as they are made, facets, graphs by group, budgets, the gateway's state.
import test from 'ava';
import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { BudgetsService } from '../../gen/gateway/admin/v2/budgets_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { StatusService } from '../../gen/gateway/admin/v2/status_pb.ts';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { forbidden, fresh, invalid, openStories, runRefused } from './identity-stories.ts';

const { listLogFacets, listLogs } = LogsService.method;
const { getGroupedGraph } = AnalyticsGraphsService.method;
const { listAnalyticsGroups } = AnalyticsGroupsService.method;
const { listBudgets } = BudgetsService.method;
const { getStatus } = StatusService.method;
const { bench, story } = openStories(test);

async function call(model: string, key = WORKSPACE_KEY, team = 'a', stream = false): Promise<void> {
  const { gateway, provider } = bench();
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': key,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.origin}/v1`,
      'x-gateway-metadata': JSON.stringify({ team }),
      authorization: 'Bearer sk',
    },
    body: JSON.stringify({ model, messages: [{ role: 'user', content: 'hi' }], stream }),
  });
  await answer.arrayBuffer();
}

const lastHour = () => ({
  time_of_generation_min: new Date(Date.now() - 3_600_000).toISOString(),
  time_of_generation_max: new Date(Date.now() + 1000).toISOString(),
});

story('facets count the values of entries, and a graph by group adds up to its points', async (t, admin) => {
  const scopes = ['completions.write'];
  const body = { name: fresh('facets'), workspace_id: 'default', scopes };
  const { id, key } = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body });
  await call('gpt-ok', String(key), 'a');
  await call('gpt-ok', String(key), 'b');
  await call('gpt-ok-2', String(key), 'b');
  const { data, metadata_names: names } = await admin.ok(listLogFacets, { api_key_ids: String(id) });
  const models = (data as Json[]).find(({ name }) => name === 'ai_model')?.values as Json[];
  t.deepEqual(
    models.map(({ value, requests }) => [value, requests]),
    [
      ['gpt-ok', 2],
      ['gpt-ok-2', 1],
    ],
  );
  t.true((names as string[]).includes('team'));

  const asked = { ...lastHour(), measure: 'requests', api_key_ids: String(id), top: 1 };
  const graph = await admin.ok(getGroupedGraph, asked);
  t.deepEqual(graph.groups, ['gpt-ok']);
  const points = graph.data_points as { values: number[]; rest: number }[];
  t.is(
    points.reduce((sum, { values }) => sum + (values[0] ?? 0), 0),
    2,
  );
  t.is(
    points.reduce((sum, { rest }) => sum + rest, 0),
    1,
  );
  const teams = await admin.ok(getGroupedGraph, { ...asked, group_by: 'metadata.team', top: 5 });
  t.deepEqual((teams.groups as string[]).toSorted(), ['a', 'b']);
});

story('facets by any filter are what counting the entries of the list comes to', async (t, admin) => {
  const body = { name: fresh('counted'), workspace_id: 'default', scopes: ['completions.write'] };
  const { id, key } = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body });
  for (const [model, team] of [
    ...([['gpt-ok', 'a'] as const, ['gpt-ok', 'b'] as const, ['gpt-ok-2', 'b'] as const] as const),
    ...([['reset', 'a'] as const, ['reset', 'c'] as const, ['gpt-ok', 'c'] as const] as const),
  ])
    await call(model, String(key), team);
  const own = { api_key_ids: String(id) };
  const filters: readonly Json[] = [
    ...[{}, { ai_model: 'gpt-ok' }, { ai_model: 'gpt-ok,reset' }, { metadata: '{"team":"b"}' }],
    ...[{ search: 'gpt-ok' }, { search: 'nothing has this' }, { ai_org: 'openai', total_units_min: 1 }],
    ...[{ ai_model: 'reset', metadata: '{"team":"c"}' }, lastHour(), { cache_status: 'disabled' }],
  ];
  const members = { ai_model: 'model', ai_org: 'provider', status_code: 'status_code' };
  for (const filter of filters) {
    const { data: listed } = await admin.ok(listLogs, { ...own, ...filter });
    const { data, metadata_names: names } = await admin.ok(listLogFacets, { ...own, ...filter });
    const facets = new Map((data as Json[]).map((facet) => [facet.name, facet]));
    for (const [name, member] of Object.entries(members)) {
      const wanted = new Map<string, number>();
      for (const entry of listed as Json[])
        wanted.set(String(entry[member]), (wanted.get(String(entry[member])) ?? 0) + 1);
      const values = (facets.get(name)?.values ?? []) as { value: string; requests: number }[];
      t.deepEqual(
        Object.fromEntries(values.map(({ value, requests }) => [value, requests])),
        Object.fromEntries(wanted),
        `${name} ${JSON.stringify(filter)}`,
      );
    }
    t.deepEqual(names ?? [], (listed as Json[]).length > 0 ? ['team'] : []);
    t.true(
      (data as Json[]).every((facet) => !('counted_from' in facet)),
      'all are counted',
    );
  }
});

story('time to first token over time: of streams alone, absent where there was none', async (t, admin) => {
  const body = { name: fresh('first-token'), workspace_id: 'default', scopes: ['completions.write'] };
  const { id, key } = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body });
  await call('gpt-ok', String(key));
  await call('gpt-ok', String(key), 'a', true);
  await call('gpt-ok', String(key), 'a', true);
  await call('gpt-ok-2', String(key));
  const asked = { ...lastHour(), api_key_ids: String(id) };
  const { data } = await admin.ok(listLogs, { api_key_ids: String(id) });
  const times = (data as Json[]).flatMap(({ time_to_first_token_ms: ms }) =>
    ms === undefined ? [] : [ms as number],
  );
  t.is(times.length, 2);
  type Point = Readonly<Record<'values' | 'measured', Json[]>> & { readonly measured_rest?: Json };
  const pointsOf = async (measure: string, more: Json = {}): Promise<Point[]> => {
    const graph = await admin.ok(getGroupedGraph, { ...asked, measure, ...more });
    return graph.data_points as unknown as Point[];
  };
  const mean = await pointsOf('avg_time_to_first_token');
  const measured = mean.flatMap((point) => point.measured.filter(({ calls }) => calls !== 0));
  t.is(
    measured.reduce((sum, { calls }) => sum + (calls as number), 0),
    2,
    'not of the calls that were no streams',
  );
  const sum = measured.reduce((total, { calls, value }) => total + (calls as number) * (value as number), 0);
  t.true(Math.abs(sum - times.reduce((total, ms) => total + ms, 0)) < 0.01);
  for (const point of mean) {
    t.deepEqual(point.values, []);
    for (const one of point.measured) {
      t.is('value' in one, one.calls !== 0, 'absent, not 0');
      t.is(one.unknown_calls, 0);
    }
  }
  const [p95 = Number.NaN] = (await pointsOf('p95_time_to_first_token')).flatMap((point) =>
    point.measured.flatMap(({ value }) => (value === undefined ? [] : [value as number])),
  );
  t.true(p95 <= Math.max(...times) * 1.02 && p95 >= Math.min(...times) * 0.98);
  const rest = await pointsOf('p50_time_to_first_token', {
    top: 1,
    group_by: 'metadata.team',
    ai_model: 'gpt-ok-2',
  });
  t.true(rest.every(({ measured_rest: one }) => one !== undefined && !('value' in one)));
});

story('errors by reason: as a filter, a facet, a group and over time', async (t, admin) => {
  const body = { name: fresh('reasons'), workspace_id: 'default', scopes: ['completions.write'] };
  const { id, key } = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body });
  const own = { api_key_ids: String(id) };
  await call('gpt-ok', String(key));
  await call('reset', String(key), 'a');
  await call('reset', String(key), 'b');
  const listed = async (more: Json): Promise<Json[]> =>
    (await admin.ok(listLogs, { ...own, ...more })).data as Json[];
  const failed = (await listed({})).filter(({ error }) => error !== undefined);
  t.is(failed.length, 2);
  const [reason = ''] = failed.map(({ error }) => String((error as Json).reason));

  t.deepEqual(await listed({ error_reason: `none, ${reason}` }), failed);
  t.deepEqual(await listed({ error_reason: 'none' }), []);

  const facets = (await admin.ok(listLogFacets, own)).data as Json[];
  const facet = facets.find(({ name }) => name === 'error_reason');
  t.deepEqual(facet?.values, [{ value: reason, requests: 2 }], 'calls without an error are not told');

  const groups = await admin.ok(listAnalyticsGroups, {
    ...own,
    ...lastHour(),
    group_by: 'error_reason',
    include_total: true,
  });
  t.deepEqual(groups.totals, { requests: 2 }, 'of the groups alone');
  t.deepEqual(groups.data, [{ object: 'analytics-group', error_reason: reason, requests: 2 }]);
  const graph = await admin.ok(getGroupedGraph, {
    ...own,
    ...lastHour(),
    measure: 'requests',
    group_by: 'error_reason',
  });
  t.deepEqual(graph.groups, [reason]);
  const points = graph.data_points as { values: number[]; rest: number }[];
  t.is(
    points.reduce((sum, { values, rest }) => sum + (values[0] ?? 0) + rest, 0),
    2,
  );
});

story('budgets tell what was spent, held and left, to those who see their owner', async (t, admin) => {
  const name = fresh('capped');
  const usage = { type: 'tokens', credit_limit: 1_000_000 };
  const body = { name, workspace_id: 'default', scopes: ['completions.write'], usage_limits: usage };
  const { id, key } = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body });
  await call('gpt-ok', String(key));
  const find = async (caller: typeof admin) =>
    ((await caller.ok(listBudgets, { kind: 'api-key' })).data as Json[]).find((budget) => budget.id === id);
  // It is settled after the answer.
  const found = await eventually('a settled call', async () => {
    const budget = await find(admin);
    return Number(budget?.spent) > 0 && budget;
  });
  t.like(found, {
    object: 'budget',
    kind: 'api-key',
    name,
    type: 'tokens',
    credit_limit: 1_000_000,
    status: 'active',
  });
  t.is(Number(found.spent) + Number(found.held) + Number(found.free), 1_000_000);
  const other = fresh('other');
  await ok(bench().gateway, 'POST', '/admin/workspaces', { body: { name: other, slug: other } });
  const reader = { name: 'r', workspace_id: other, scopes: ['analytics.view'] };
  const stranger = await ok(bench().gateway, 'POST', '/api-keys/workspace/service', { body: reader });
  t.is(await find(admin.as(String(stranger.key))), undefined);
});

story('the gateway tells its version and whether its stores answer', async (t, admin) => {
  // A store that is busy may be late once: it is asked within a bound.
  const status = await eventually('ready stores', async () => {
    const told = await admin.ok(getStatus);
    return (told.stores as Json[]).every(({ ready }) => ready) && told;
  });
  t.regex(String(status.version), /^\d+\.\d+\.\d+/);
  t.deepEqual(
    (status.stores as Json[]).map(({ name }) => name),
    ['documents', 'shared'],
  );
  const [instance, ...others] = status.instances as Json[];
  t.deepEqual(others, [], 'embedded stores have one instance');
  t.like(instance, { is_current: true, version: status.version, runtime: status.runtime });
  const [worker] = (instance?.workers ?? []) as Json[];
  t.is(worker?.pid, process.pid);
  t.true(Date.parse(String(instance?.last_seen_at)) >= Date.parse(String(instance?.started_at)));
  t.false(status.instances_incomplete);
});

runRefused(test, bench, [
  ['an unknown measure', getGroupedGraph, { ...lastHour(), measure: 'joy' }, invalid('measure')],
  [
    'an unknown group',
    getGroupedGraph,
    { ...lastHour(), measure: 'cost', group_by: 'x' },
    invalid('group_by'),
  ],
  ['an unknown kind', listBudgets, { kind: 'x' }, invalid('kind')],
  ['a status that is none', listLogFacets, { status_code: 'x' }, invalid('status_code')],
  ['a key of a workspace', getStatus, {}, forbidden, WORKSPACE_KEY],
]);

test('a tail by the reason of errors leaves out what did not fail', async (t) => {
  const { gateway } = bench();
  const body = { name: fresh('tail'), workspace_id: 'default', scopes: ['completions.write'] };
  const { id, key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  await call('gpt-ok', String(key));
  await call('reset', String(key));
  const { data } = await ok(gateway, 'GET', `/logs?api_key_ids=${id}`);
  const failed = (data as Json[]).find(({ error }) => error !== undefined);
  const since = encodeURIComponent(new Date(Date.now() - 60_000).toISOString());
  const reason = String((failed?.error as Json | undefined)?.reason);
  const leave = new AbortController();
  const answer = await fetch(
    `${gateway.origin}/v1/logs/tail?api_key_ids=${id}&error_reason=${reason}&since=${since}`,
    { headers: { 'x-gateway-api-key': ADMIN_KEY }, signal: leave.signal },
  );
  const reader = (answer.body as ReadableStream<Uint8Array>).getReader();
  const { value } = await reader.read();
  leave.abort();
  const [line = ''] = Buffer.from(value ?? [])
    .toString('utf8')
    .split('\n');
  const told = (JSON.parse(line) as { data: Json[] }).data;
  t.deepEqual(
    told.map((entry) => entry.id),
    [failed?.id],
  );
});

test('a tail as rows has what a list shows of each entry, and nothing else', async (t) => {
  const { gateway } = bench();
  const body = { name: fresh('rows'), workspace_id: 'default', scopes: ['completions.write'] };
  const { id, key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  await call('gpt-ok', String(key));
  await call('reset', String(key));
  const { data } = await ok(gateway, 'GET', `/logs?api_key_ids=${id}&order=asc`);
  const since = encodeURIComponent(new Date(Date.now() - 60_000).toISOString());
  const told = async (query: string): Promise<Json> => {
    const leave = new AbortController();
    const answer = await fetch(`${gateway.origin}/v1/logs/tail?api_key_ids=${id}&since=${since}${query}`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
      signal: leave.signal,
    });
    const { value } = await (answer.body as ReadableStream<Uint8Array>).getReader().read();
    leave.abort();
    return JSON.parse(
      Buffer.from(value ?? [])
        .toString('utf8')
        .split('\n')[0] ?? '',
    ) as Json;
  };
  const rows = (data as Json[]).map((entry) => {
    const { id: own, created_at, status_code, model, provider, latency_ms, usage, cost_exact, error } = entry;
    const totalTokens = (usage as Json | undefined)?.total_tokens;
    return {
      ...{ id: own, created_at, status_code, model, provider, latency_ms },
      ...(totalTokens === undefined ? {} : { total_tokens: totalTokens }),
      ...(cost_exact === undefined ? {} : { cost_exact }),
      ...(error === undefined ? {} : { error_reason: (error as Json).reason }),
    };
  });
  t.is(rows.length, 2);
  t.deepEqual(await told('&as_rows=true'), { data: [], skipped: 0, rows });
  t.deepEqual(await told(''), { data, skipped: 0 });
});

test('a tail tells entries once, those of before when asked, and ends with its key', async (t) => {
  const { gateway } = bench();
  const model = fresh('tailed');
  await call(model);
  const body = { name: 't', workspace_id: 'default', scopes: ['logs.list'] };
  const key = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  const since = encodeURIComponent(new Date(Date.now() - 60_000).toISOString());
  const open = (query: string) =>
    fetch(`${gateway.origin}/v1/logs/tail?${query}`, { headers: { 'x-gateway-api-key': String(key.key) } });
  const answer = await open(`ai_model=${model}&since=${since}`);
  t.is(answer.status, 200);
  const seen: string[] = [];
  let text = '';
  let called = false;
  for await (const bytes of answer.body ?? []) {
    text += Buffer.from(bytes).toString('utf8');
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines)
      for (const { id } of (JSON.parse(line) as { data: { id: string }[] }).data) seen.push(id);
    if (seen.length === 1 && !called) {
      called = true;
      await call('gpt-other');
      await call(model);
    }
    if (seen.length === 2)
      await ok(gateway, 'DELETE', `/api-keys/${key.id}`, { key: ADMIN_KEY }).catch(() => {});
  }
  t.is(seen.length, 2);
  t.is(new Set(seen).size, 2);
  const old = encodeURIComponent(new Date(Date.now() - 7_200_000).toISOString());
  const late = await fetch(`${gateway.origin}/v1/logs/tail?since=${old}`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(late.status, 400);
});
