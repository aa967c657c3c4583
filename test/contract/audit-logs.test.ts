// The audit log through the front door: what is in it, who may read it, and that it can be proven.
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { codec } from '../../src/rest/codec.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Bench, type Case, type JsonObject, runCases, startBench } from './runner.ts';

const CANARY = 'canary-9f3b17c2d4e5';
const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };

let bench: Bench;
test.before(async () => {
  bench = await startBench({ GATEWAY_TRUSTED_PROXIES: '127.0.0.0/8', LOG_LEVEL: 'trace' });
});
test.after.always(() => bench?.close());

interface Answer {
  readonly status: number;
  readonly json: JsonObject;
  readonly requestId: string;
}

async function rest(
  verb: string,
  path: string,
  body?: JsonObject,
  headers: Record<string, string> = { 'x-gateway-api-key': ADMIN_KEY },
): Promise<Answer> {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { ...(body ? { 'content-type': 'application/json' } : {}), ...headers },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  return {
    status: response.status,
    json: (await response.json()) as JsonObject,
    requestId: response.headers.get('x-gateway-request-id') ?? '',
  };
}

/** The entries of one request. */
async function entriesOf(requestId: string): Promise<JsonObject[]> {
  const { status, json } = await rest('GET', `/audit-logs?request_id=${requestId}`);
  if (status !== 200) throw new Error(JSON.stringify(json));
  return json.records as JsonObject[];
}

async function onlyEntryOf(t: ExecutionContext, requestId: string): Promise<JsonObject> {
  const entries = await entriesOf(requestId);
  t.is(entries.length, 1, 'one entry');
  return entries[0] ?? {};
}

let count = 0;
const freshName = (): string => `Audited ${++count}`;

test('a change has one entry: who, from where, what, and what is different', async (t) => {
  const name = freshName();
  const made = await rest('POST', '/admin/workspaces', { name, description: 'before' });
  t.is(made.status, 200);
  const entry = await onlyEntryOf(t, made.requestId);
  t.like(entry, {
    object: 'audit-log',
    method: 'POST',
    uri: '/admin/workspaces',
    outcome: 'allowed',
    reason: '',
    response_status_code: 200,
    resource_type: 'workspace',
    action: 'create',
    user_type: 'api_key',
    user_name: 'First admin key',
    role: 'organisation-service',
    client_ip: '127.0.0.1',
    protocol: 'rest',
    operation: 'gateway.admin.v2.WorkspacesService/CreateWorkspace',
    organisation_id: bench.gateway.app.tenancy.organisationId,
    changes_truncated: false,
    country: '',
  });
  t.deepEqual(entry.target, { id: made.json.id, name });
  t.regex(String(entry.timestamp), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
  t.regex(String(entry.hash), /^[0-9a-f]{64}$/);
  t.truthy(entry.user_id);
  t.is(entry.user_id, entry.api_key_id);
  t.true((entry.changes as JsonObject[]).some(({ path, after }) => path === 'name' && after === name));

  const changed = await rest('PUT', `/admin/workspaces/${made.json.id}`, { description: 'after' });
  t.is(changed.status, 200);
  const update = await onlyEntryOf(t, changed.requestId);
  t.like(update, { action: 'update', workspace_id: made.json.id as string });
  const description = (update.changes as JsonObject[]).find(({ path }) => path === 'description');
  t.deepEqual(description, { path: 'description', before: 'before', after: 'after' });
});

test('calls that fail have an entry of their own', async (t) => {
  const name = freshName();
  const invalid = await rest('POST', '/admin/workspaces', { name, slug: 'no spaces allowed' });
  t.is(invalid.status, 400);
  t.like(await onlyEntryOf(t, invalid.requestId), {
    outcome: 'failed',
    reason: 'validation_failed',
    response_status_code: 400,
    target: { id: '', name },
  });
  const missing = await rest('PUT', '/admin/workspaces/nowhere', { description: 'x' });
  t.is(missing.status, 404);
  t.like(await onlyEntryOf(t, missing.requestId), {
    outcome: 'failed',
    reason: 'not_found',
    response_status_code: 404,
    target: { id: 'nowhere', name: '' },
    action: 'update',
    user_type: 'api_key',
  });
  const slug = `taken-${name.replace(' ', '-')}`;
  await rest('POST', '/admin/workspaces', { name: freshName(), slug });
  const conflict = await rest('POST', '/admin/workspaces', { name: freshName(), slug });
  t.is(conflict.status, 409);
  t.like(await onlyEntryOf(t, conflict.requestId), { outcome: 'failed', response_status_code: 409 });
  const refused = await rest(
    'POST',
    '/admin/workspaces',
    { name: freshName() },
    {
      'x-gateway-api-key': WORKSPACE_KEY,
    },
  );
  t.is(refused.status, 403);
  t.like(await onlyEntryOf(t, refused.requestId), {
    outcome: 'refused',
    reason: 'forbidden',
    response_status_code: 403,
    role: 'workspace-service',
    workspace_id: bench.gateway.app.tenancy.workspaceId,
  });
  const broken = await fetch(`${bench.gateway.origin}/v1/admin/workspaces`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: '{"name": ',
  });
  t.is(broken.status, 400);
  t.like(await onlyEntryOf(t, broken.headers.get('x-gateway-request-id') ?? ''), {
    outcome: 'failed',
    reason: 'malformed_body',
  });
  const unreadable = await rest('PUT', '/admin/workspaces/some%20id', { no_such_member: 1 });
  t.is(unreadable.status, 400);
  t.like(await onlyEntryOf(t, unreadable.requestId), { target: { id: 'some id', name: '' } });
});

test('failed authentication is told with the token masked, on reads as well', async (t) => {
  const token = `slk_wrong_${CANARY}`;
  const answer = await rest('GET', '/admin/workspaces', undefined, { 'x-gateway-api-key': token });
  t.is(answer.status, 401);
  const entry = await onlyEntryOf(t, answer.requestId);
  t.like(entry, {
    outcome: 'refused',
    reason: 'unauthenticated',
    response_status_code: 401,
    user_type: 'anonymous',
    user_id: '',
    action: 'authenticate',
    detail: 'the API key is not known',
  });
  t.deepEqual(JSON.parse(String(entry.request_headers)), { 'x-gateway-api-key': 'sl…e5' });
  const none = await rest('POST', '/admin/workspaces', { name: 'x' }, {});
  t.is(none.status, 401);
  t.like(await onlyEntryOf(t, none.requestId), { action: 'create', request_headers: '{}' });
});

test('reads leave no entry', async (t) => {
  const read = await rest('GET', '/admin/workspaces');
  t.is(read.status, 200);
  t.deepEqual(await entriesOf(read.requestId), []);
  const refused = await rest('GET', '/audit-logs', undefined, { 'x-gateway-api-key': WORKSPACE_KEY });
  t.is(refused.status, 403);
  t.deepEqual(await entriesOf(refused.requestId), []);
});

test("a trusted proxy's word counts for the address", async (t) => {
  const answer = await rest(
    'PUT',
    '/admin/workspaces/nowhere',
    {},
    {
      'x-gateway-api-key': ADMIN_KEY,
      'x-forwarded-for': '203.0.113.66, 198.51.100.7, 127.0.0.9',
    },
  );
  t.like(await onlyEntryOf(t, answer.requestId), { client_ip: '198.51.100.7' });
});

for (const protocol of ['connect', 'grpc'] as const) {
  test(`a change over ${protocol} has the same entry`, async (t) => {
    const name = freshName();
    const method = WorkspacesService.method.createWorkspace;
    const { header } = await bench.transports[protocol].unary(
      method,
      undefined,
      undefined,
      { 'x-gateway-api-key': ADMIN_KEY },
      codec.decodeRequest(method.input, { name }),
    );
    t.like(await onlyEntryOf(t, header.get('x-gateway-request-id') ?? ''), {
      method: 'POST',
      uri: '/gateway.admin.v2.WorkspacesService/CreateWorkspace',
      protocol,
      outcome: 'allowed',
      target: { name },
    });
  });
}

test('filters find what they say and nothing else', async (t) => {
  const made = await rest('POST', '/admin/workspaces', { name: freshName() });
  const id = String(made.json.id);
  await rest('PUT', `/admin/workspaces/${id}`, { description: 'x' });
  await rest('PUT', `/admin/workspaces/${id}`, { slug: 'not a slug!' });
  const entry = (await entriesOf(made.requestId))[0] as JsonObject;
  const all = async (query: string) =>
    (await rest('GET', `/audit-logs?page_size=100&${query}`)).json.records as JsonObject[];
  const both = `target_id=${id}`;
  t.is((await all(both)).length, 3);
  t.deepEqual(
    (await all(both)).map(({ sequence }) => Number(sequence)),
    [...new Set((await all(both)).map(({ sequence }) => Number(sequence)))].sort((a, b) => b - a),
    'newest first',
  );
  for (const [query, expected] of [
    ['action=update', 2],
    ['action=create', 1],
    ['outcome=failed', 1],
    ['outcome=allowed', 2],
    ['response_status_code=400', 1],
    ['method=PUT', 2],
    ['method=DELETE', 0],
    [`uri=/admin/workspaces/${id}`, 2],
    [`uri=/v1/admin/workspaces/${id}`, 2],
    ['resource_type=workspace', 3],
    ['resource_type=prompt', 0],
    [`user_id=${entry.user_id}`, 3],
    [`actor=${entry.user_id}`, 3],
    ['actor=somebody', 0],
    ['user_type=api_key', 3],
    ['user_type=user', 0],
    ['client_ip=127.0.0.1', 3],
    ['country=DE', 0],
    ['action=update&outcome=allowed', 1],
    [`organisation_id=${entry.organisation_id}`, 3],
    [`start_time=${entry.timestamp}`, 3],
    [`end_time=${entry.timestamp}`, 0],
    ['start_time=2020-01-01T00:00:00Z&end_time=2020-02-01T00:00:00%2B01:00', 0],
  ] as const) {
    t.is((await all(`${both}&${query}`)).length, expected, query);
  }
  t.is((await all(`workspace_id=${id}&action=update&outcome=allowed`)).length, 1);
  const total = (await rest('GET', `/audit-logs?${both}&page_size=0`)).json;
  t.deepEqual(total, { object: 'analytics-graph', total: 3, total_capped: false, records: [] });
  const second = (await rest('GET', `/audit-logs?${both}&page_size=2&current_page=1`)).json;
  t.is((second.records as JsonObject[]).length, 1);
  t.is(second.total, 3);
});

test('the export over REST is JSONL, oldest first, and is itself in the log', async (t) => {
  const made = await rest('POST', '/admin/workspaces', { name: freshName() });
  const response = await fetch(`${bench.gateway.origin}/v1/audit-logs/export`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(response.status, 200);
  t.is(response.headers.get('content-type'), 'application/jsonl; charset=utf-8');
  const text = await response.text();
  t.true(text.endsWith('\n'));
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as JsonObject);
  const times = lines.map(({ timestamp }) => String(timestamp));
  t.deepEqual(times, [...times].sort());
  t.true(lines.some(({ request_id }) => request_id === made.requestId));
  const own = await onlyEntryOf(t, response.headers.get('x-gateway-request-id') ?? '');
  t.like(own, { action: 'export', resource_type: 'audit-log', outcome: 'allowed' });
  const none = await fetch(`${bench.gateway.origin}/v1/audit-logs/export?country=DE`, {
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(await none.text(), '');
});

test('the chain is proven, from the first entry and from a noted one', async (t) => {
  await rest('POST', '/admin/workspaces', { name: freshName() });
  const { status, json } = await rest('GET', '/audit-logs/verify');
  t.is(status, 200);
  t.like(json, { object: 'audit-proof', valid: true });
  t.true(Number(json.entries) > 0);
  t.is(json.break, undefined);
  const noted = await rest('GET', `/audit-logs/verify?sequence=${json.sequence}&hash=${json.hash}`);
  t.like(noted.json, { valid: true });
  const wrong = await rest('GET', `/audit-logs/verify?sequence=1&hash=${'0'.repeat(64)}`);
  t.like(wrong.json, { valid: false, break: { sequence: 1, kind: 'anchor' } });
});

test('no secret is in an entry or a log line, however a call fails', async (t) => {
  const secret = { api_key: CANARY, token: CANARY };
  const headers = { 'x-gateway-api-key': ADMIN_KEY };
  await rest('POST', '/admin/workspaces', { name: 'x', slug: '!', defaults: { metadata: secret } });
  await rest('POST', '/admin/workspaces', { name: 'x', unknown_member: CANARY });
  await rest('POST', '/admin/workspaces', { name: 'x', [CANARY]: 1 });
  await rest('POST', '/admin/workspaces', { name: freshName(), defaults: { metadata: secret } });
  await rest('PUT', `/admin/workspaces/slk_${CANARY}`, { description: 'x' });
  await rest('POST', '/admin/workspaces', { name: 'x' }, { authorization: `Bearer ${CANARY}` });
  await rest('POST', '/admin/workspaces', { name: 'x' }, { authorization: `Basic ${CANARY}` });
  await rest('POST', '/admin/workspaces', { name: 'x' }, { 'x-api-key': CANARY });
  await rest('POST', '/admin/workspaces', { name: 'x' }, { ...headers, authorization: `Bearer ${CANARY}` });
  await rest('GET', `/audit-logs?request_id=${CANARY}`);
  await rest('POST', `/admin/workspaces?key=${CANARY}`, { name: '' });
  const text = await (await fetch(`${bench.gateway.origin}/v1/audit-logs/export`, { headers })).text();
  const withCanary = text.split('\n').filter((line) => line.includes(CANARY));
  t.deepEqual(withCanary, []);
  t.false(bench.gateway.logLines.join('\n').includes(CANARY));
});

test('50 changes at once are 50 entries, soon', async (t) => {
  const begun = performance.now();
  const made = await Promise.all(
    Array.from({ length: 50 }, (_, i) => rest('POST', '/admin/workspaces', { name: `At once ${i}` })),
  );
  t.log(`${Math.round(performance.now() - begun)} ms`);
  t.deepEqual([...new Set(made.map(({ status }) => status))], [200]);
  for (const { requestId } of made.slice(0, 5)) t.is((await entriesOf(requestId)).length, 1);
  t.like((await rest('GET', '/audit-logs/verify')).json, { valid: true });
});

const refusals: Case[] = [
  {
    name: 'a workspace key reads no audit log',
    method: AuditLogsService.method.listAuditLogs,
    headers: { authorization: undefined },
    refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
  },
  {
    name: 'a workspace key exports none',
    method: AuditLogsService.method.exportAuditLogs,
    headers: { authorization: undefined },
    refused: { status: 403, code: Code.PermissionDenied, reason: 'forbidden' },
  },
  {
    name: 'no key proves nothing',
    method: AuditLogsService.method.verifyAuditLogs,
    headers: { 'x-gateway-api-key': undefined, authorization: undefined },
    refused: { status: 401, code: Code.Unauthenticated, reason: 'unauthenticated' },
  },
  {
    name: 'another organisation',
    method: AuditLogsService.method.listAuditLogs,
    body: { organisation_id: '5f3f35b1-2a4b-4f7e-9b9c-0d8e5f1f3a55' },
    headers: ADMIN,
    refused: { status: 404, code: Code.NotFound, reason: 'not_found' },
  },
  ...(
    [
      [
        'an inverted time range',
        { start_time: '2026-02-01T00:00:00Z', end_time: '2026-01-01T00:00:00Z' },
        'end_time',
      ],
      [
        'an empty time range',
        { start_time: '2026-02-01T00:00:00Z', end_time: '2026-02-01T00:00:00Z' },
        'end_time',
      ],
      ['an unreadable time', { start_time: 'yesterday' }, 'start_time'],
      ['a day that is not there', { end_time: '2026-02-31T00:00:00Z' }, 'end_time'],
      ['an unknown method', { method: 'PATCH' }, 'method'],
      ['an unknown outcome', { outcome: 'done' }, 'outcome'],
      ['an unknown kind of user', { user_type: 'robot' }, 'user_type'],
      ['two actors', { user_id: 'a', actor: 'b' }, 'actor'],
      ['a status that is none', { response_status_code: 99 }, 'response_status_code'],
      ['a page too large', { page_size: 101 }, 'page_size'],
      ['a page before the first', { current_page: -1 }, 'current_page'],
      ['a page too deep', { current_page: 100_000 }, 'current_page'],
    ] as const
  ).map(
    ([name, body, param]): Case => ({
      name,
      method: AuditLogsService.method.listAuditLogs,
      body,
      headers: ADMIN,
      refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param },
    }),
  ),
  {
    name: 'an inverted time range of an export',
    method: AuditLogsService.method.exportAuditLogs,
    body: { start_time: '2026-02-01T00:00:00Z', end_time: '2026-01-01T00:00:00Z' },
    headers: ADMIN,
    refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param: 'end_time' },
  },
  {
    name: 'a sequence without a hash',
    method: AuditLogsService.method.verifyAuditLogs,
    body: { sequence: 1 },
    headers: ADMIN,
    refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param: 'hash' },
  },
  {
    name: 'a hash that is none',
    method: AuditLogsService.method.verifyAuditLogs,
    body: { sequence: 1, hash: 'abc' },
    headers: ADMIN,
    refused: { status: 400, code: Code.InvalidArgument, reason: 'validation_failed', param: 'hash' },
  },
];

runCases(test, () => bench, [
  ...refusals,
  {
    name: 'a page of entries',
    method: AuditLogsService.method.listAuditLogs,
    body: { page_size: 1 },
    headers: ADMIN,
    check: (t, { json }) => {
      t.is(json.object, 'analytics-graph');
      t.true(Array.isArray(json.records));
    },
  },
  {
    name: 'an export as a stream',
    method: AuditLogsService.method.exportAuditLogs,
    headers: ADMIN,
    over: ['connect', 'grpc'],
    check: (t, { events, complete }) => {
      t.true(complete);
      for (const event of events) t.is(event.object, 'audit-log');
    },
  },
  {
    name: 'a proof',
    method: AuditLogsService.method.verifyAuditLogs,
    headers: ADMIN,
    check: (t, { json }) => t.is(json.valid, true),
  },
]);
