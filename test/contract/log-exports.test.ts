// Exports of the request log through the front door: made, changed, run, stopped, fetched; who sees which.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Code } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { LogExportsService } from '../../gen/gateway/admin/v2/log_exports_pb.ts';
import type { RequestRecord } from '../../src/call/record.ts';
import { eventually } from '../support/eventually.ts';
import { ok, send } from '../support/front-door.ts';
import { ADMIN_KEY } from '../support/gateway.ts';
import { bookEntry, personKey, serviceKey } from './logs-books.ts';
import {
  type Bench,
  type Case,
  invalid,
  type JsonObject,
  raw,
  runCases,
  startBench,
  UUID,
} from './runner.ts';
import { type Caller, storiesOf } from './story.ts';

const { createLogExport, getLogExport, listLogExports, updateLogExport } = LogExportsService.method;
const { startLogExport, cancelLogExport, downloadLogExport, getLogExportFieldRestrictions } =
  LogExportsService.method;

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());
const story = storiesOf(() => bench);

const record = (more: Partial<RequestRecord>): RequestRecord => {
  const entry = bookEntry(bench.gateway, more);
  bench.gateway.app.requestLog.record(entry);
  return entry;
};

async function ended(caller: Caller, export_id: string): Promise<JsonObject> {
  return eventually('the end of the export', async () => {
    const found = await caller.ok(getLogExport, { export_id });
    return found.status !== 'in_progress' && found;
  });
}

async function fetched(t: ExecutionContext, caller: Caller, export_id: string): Promise<JsonObject[]> {
  const { signed_url: url } = await caller.ok(downloadLogExport, { export_id });
  const answer = await fetch(String(url));
  t.is(answer.status, 200);
  t.regex(answer.headers.get('content-type') ?? '', /^application\/jsonl/);
  const text = await answer.text();
  t.is(Number(answer.headers.get('content-length')), Buffer.byteLength(text));
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as JsonObject);
}

story('an export is made, run and fetched: the fields asked for, newest first', async (t, admin) => {
  const trace = randomUUID();
  const at = Date.now() - 1000;
  const entries = Array.from({ length: 1203 }, (_, i) =>
    record({
      traceId: trace,
      createdAt: at + Math.floor(i / 3),
      cost: String(i * 10_000_000_000),
      metadata: { n: String(i) },
      usage: { promptTokens: i, completionTokens: 1, totalTokens: i + 1 },
      ...(i === 7 ? { error: { reason: 'rate_limited', message: 'no' } } : {}),
    }),
  );
  const made = await admin.ok(createLogExport, {
    filters: { trace_id: trace, cost_min: 3, metadata: {} },
    requested_data: ['id', 'cost', 'metadata', 'total_units', 'is_success', 'id'],
    description: 'all of it',
  });
  t.like(made, { total: 1200, object: 'export' });
  const id = String(made.id);
  t.regex(id, UUID);
  t.like(await admin.ok(getLogExport, { export_id: id }), {
    id,
    status: 'draft',
    description: 'all of it',
    workspace_id: null,
    object: 'export',
    filters: { trace_id: trace, cost_min: 3 },
    requested_data: ['id', 'cost', 'metadata', 'total_units', 'is_success'],
  });
  t.is((await admin.refused(downloadLogExport, { export_id: id })).status, 409);
  t.is((await admin.refused(cancelLogExport, { export_id: id })).status, 409);
  t.is((await admin.ok(startLogExport, { export_id: id })).object, 'export');
  const done = await ended(admin, id);
  t.like(done, { status: 'success', total_records: 1200 });
  t.truthy(done.expires_at);
  const lines = await fetched(t, admin, id);
  t.deepEqual(
    lines.map((line) => line.id),
    entries
      .slice(3)
      .map(({ id }) => id)
      .toReversed(),
  );
  t.deepEqual(lines.at(-1), {
    id: entries[3]!.id,
    cost: 3,
    metadata: { n: '3' },
    total_units: 4,
    is_success: true,
  });
  t.is((await admin.refused(startLogExport, { export_id: id })).status, 409);

  // Changed, it is a draft again, and its page is another one.
  await admin.ok(updateLogExport, {
    export_id: id,
    filters: { trace_id: trace, page_size: 100, current_page: 2 },
    requested_data: ['id'],
  });
  t.like(await admin.ok(getLogExport, { export_id: id }), { status: 'draft', requested_data: ['id'] });
  t.is((await admin.refused(downloadLogExport, { export_id: id })).status, 409);
  await admin.ok(startLogExport, { export_id: id });
  t.like(await ended(admin, id), { status: 'success', total_records: 100 });
  t.deepEqual(
    (await fetched(t, admin, id)).map((line) => line.id),
    entries
      .toReversed()
      .slice(200, 300)
      .map(({ id }) => id),
  );

  await admin.ok(updateLogExport, {
    export_id: id,
    filters: { trace_id: trace, error_reason: 'rate_limited' },
    requested_data: ['id'],
  });
  await admin.ok(startLogExport, { export_id: id });
  t.like(await ended(admin, id), { status: 'success', total_records: 1 });
  t.deepEqual(await fetched(t, admin, id), [{ id: entries[7]!.id }], 'the one that failed');
  const { data } = await admin.ok(listLogExports, { page_size: 1000 });
  t.true((data as JsonObject[]).some((one) => one.id === id));
});

test('what was said is in it where it is asked for', async (t) => {
  const { key } = await serviceKey(bench.gateway);
  const trace = randomUUID();
  const log = (i: number) => ({
    request: { url: 'https://api.openai.com/v1/x', body: { i, said: 'wörld' } },
    response: { body: 'plain text', status: 201 },
    metadata: { trace_id: trace },
  });
  const body = Array.from({ length: 20 }, (_, i) => log(i)) as never;
  await ok(bench.gateway, 'POST', '/logs', { key, body });
  record({ traceId: trace, createdAt: Date.now() + 1 });
  await sleep(5);
  const { id } = await ok(bench.gateway, 'POST', '/logs/exports', {
    key,
    body: { filters: { trace_id: trace }, requested_data: ['request', 'response', 'cost_currency'] },
  });
  await ok(bench.gateway, 'POST', `/logs/exports/${id}/start`, { key });
  await eventually('the export', async () => {
    const { status } = await ok(bench.gateway, 'GET', `/logs/exports/${id}`, { key });
    return status === 'success';
  });
  const { signed_url } = await ok(bench.gateway, 'GET', `/logs/exports/${id}/download`, { key });
  const lines = (await (await fetch(String(signed_url))).text())
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  t.is(lines.length, 21);
  t.deepEqual(lines[0], {
    request: { method: 'POST', url: '/chat/completions' },
    response: { status: 200 },
    cost_currency: 'USD',
  });
  t.like(lines[1], {
    request: { method: 'POST', url: 'https://api.openai.com/v1/x', body: { i: 19, said: 'wörld' } },
    response: { status: 201, body: 'plain text' },
  });
});

test('an address holds for its export alone, and for whoever has it', async (t) => {
  const body = { filters: { trace_id: randomUUID() }, requested_data: ['id'] };
  const { id } = await ok(bench.gateway, 'POST', '/logs/exports', { body });
  await ok(bench.gateway, 'POST', `/logs/exports/${id}/start`);
  for (
    let i = 0;
    (await ok(bench.gateway, 'GET', `/logs/exports/${id}`)).status !== 'success' && i < 100;
    i++
  )
    await sleep(25);
  const { signed_url } = await ok(bench.gateway, 'GET', `/logs/exports/${id}/download`);
  const url = new URL(String(signed_url));
  t.is(url.origin, bench.gateway.origin);
  const get = (path: string, method = 'GET') => raw(bench.gateway.origin, { path, method });
  t.like(await get(url.pathname), { status: 200, text: '' });
  t.is((await get(url.pathname, 'HEAD')).status, 200);
  const [text = '', seal = ''] = url.pathname.slice('/exports/'.length).split('.');
  const [organisation, workspace, , until] = JSON.parse(
    Buffer.from(text, 'base64url').toString(),
  ) as unknown[];
  const forged = Buffer.from(JSON.stringify([organisation, workspace, randomUUID(), until])).toString(
    'base64url',
  );
  for (const token of [
    text,
    `${text}.`,
    `.${seal}`,
    `${text}.${seal}x`,
    `${forged}.${seal}`,
    '%2e%2e',
    'x'.repeat(5000),
  ])
    t.is((await get(`/exports/${token}`)).status, 404, token.slice(0, 80));
});

test('a person sees the exports that they made; a service of another workspace sees none', async (t) => {
  const { id: workspaceId } = await ok(bench.gateway, 'POST', '/admin/workspaces', {
    body: { name: 'Exporters' },
  });
  const scopes = ['logs.export', 'logs.list'];
  const ann = await personKey(bench.gateway, 'member', scopes, String(workspaceId));
  const bob = await personKey(bench.gateway, 'manager', scopes, String(workspaceId));
  const service = await serviceKey(bench.gateway, String(workspaceId));
  const stranger = await serviceKey(bench.gateway);
  const body = { filters: {}, requested_data: ['id'] };
  const { id } = await ok(bench.gateway, 'POST', '/logs/exports', { key: ann.key, body });
  const seen = async (key: string): Promise<boolean> => {
    const { data } = await ok(bench.gateway, 'GET', '/logs/exports', { key });
    const listed = (data as JsonObject[]).some((one) => one.id === id);
    const { status } = await send(bench.gateway, 'GET', `/logs/exports/${id}`, { key });
    t.is(status, listed ? 200 : 404);
    return listed;
  };
  t.true(await seen(ann.key));
  t.false(await seen(bob.key));
  t.true(await seen(service.key));
  t.true(await seen(ADMIN_KEY));
  t.false(await seen(stranger.key));
  for (const action of ['start', 'cancel'])
    t.is(
      (await send(bench.gateway, 'POST', `/logs/exports/${id}/${action}`, { key: stranger.key })).status,
      404,
    );
});

test('who sees their own calls alone exports those, whoever starts it', async (t) => {
  const { id: workspace } = await ok(bench.gateway, 'POST', '/admin/workspaces', {
    body: { name: 'Own exports' },
  });
  const workspaceId = String(workspace);
  await ok(bench.gateway, 'PUT', `/admin/workspaces/${workspaceId}`, {
    body: { security_settings: { membersViewAllData: false } },
  });
  const ann = await personKey(bench.gateway, 'member', ['logs.export'], workspaceId);
  const own = record({ workspaceId, userId: ann.userId });
  record({ workspaceId, userId: 'somebody' });
  const body = { filters: {}, requested_data: ['id', 'user_id'] };
  const { id, total } = await ok(bench.gateway, 'POST', '/logs/exports', { key: ann.key, body });
  t.is(total, 1);
  await ok(bench.gateway, 'POST', `/logs/exports/${id}/start`);
  for (
    let i = 0;
    (await ok(bench.gateway, 'GET', `/logs/exports/${id}`)).status !== 'success' && i < 100;
    i++
  )
    await sleep(25);
  const { signed_url } = await ok(bench.gateway, 'GET', `/logs/exports/${id}/download`, { key: ann.key });
  t.is(await (await fetch(String(signed_url))).text(), `{"id":"${own.id}","user_id":"${ann.userId}"}\n`);
});

test('an export does not outlive the right to what it holds', async (t) => {
  const { gateway } = bench;
  const { id: workspace } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Was open' } });
  const workspaceId = String(workspace);
  const ann = await personKey(gateway, 'member', ['logs.export'], workspaceId);
  const own = record({ workspaceId, userId: ann.userId });
  record({ workspaceId, userId: 'somebody' });
  const { key } = ann;
  const made = () =>
    ok(gateway, 'POST', '/logs/exports', { key, body: { filters: {}, requested_data: ['id'] } });
  const run = async (id: unknown) => {
    await ok(gateway, 'POST', `/logs/exports/${id}/start`, { key });
    const status = await eventually('the end of the export', async () => {
      const found = await ok(gateway, 'GET', `/logs/exports/${id}`, { key });
      return found.status !== 'in_progress' && found.status;
    });
    t.is(status, 'success');
  };
  const { id, total } = await made();
  t.is(total, 2);
  await run(id);
  const download = () => send(gateway, 'GET', `/logs/exports/${id}/download`, { key });
  t.is((await download()).status, 200);
  await ok(gateway, 'PUT', `/admin/workspaces/${workspaceId}`, {
    body: { security_settings: { membersViewAllData: false } },
  });
  t.is((await download()).status, 403);
  const changed = await ok(gateway, 'PUT', `/logs/exports/${id}`, { key, body: { filters: {} } });
  t.is(changed.total, 1);
  await run(id);
  const { json } = await download();
  t.is(await (await fetch(String(json.signed_url))).text(), `{"id":"${own.id}"}\n`);
});

test.serial('fields that the organisation denies are in no export', async (t) => {
  const restrictions = () => ok(bench.gateway, 'GET', '/logs/exports/field-restrictions');
  const body = { filters: { trace_id: randomUUID() }, requested_data: ['id', 'request'] };
  const { id } = await ok(bench.gateway, 'POST', '/logs/exports', { body });
  const set = (deniedFields: string[]) =>
    ok(bench.gateway, 'PUT', '/admin/organisation', {
      body: { settings: { export_settings: { deniedFields } } },
    });
  t.deepEqual((await restrictions()).denied_fields, []);
  await set(['request', 'metadata']);
  t.deepEqual((await restrictions()).denied_fields, ['request', 'metadata']);
  const refused = await send(bench.gateway, 'POST', '/logs/exports', { body });
  t.is(refused.status, 400);
  t.is((refused.json.error as JsonObject).param, 'requested_data');
  t.is((await send(bench.gateway, 'POST', `/logs/exports/${id}/start`)).status, 400);
  const changed = { filters: body.filters, requested_data: ['metadata'] };
  t.is((await send(bench.gateway, 'PUT', `/logs/exports/${id}`, { body: changed })).status, 400);
  await set([]);
  t.is((await send(bench.gateway, 'POST', `/logs/exports/${id}/start`)).status, 200);
});

test('an export is in the audit log: made, started, fetched', async (t) => {
  const body = { filters: { trace_id: randomUUID() }, requested_data: ['id'] };
  const { id } = await ok(bench.gateway, 'POST', '/logs/exports', { body });
  await ok(bench.gateway, 'POST', `/logs/exports/${id}/start`);
  for (
    let i = 0;
    (await ok(bench.gateway, 'GET', `/logs/exports/${id}`)).status !== 'success' && i < 100;
    i++
  )
    await sleep(25);
  await ok(bench.gateway, 'GET', `/logs/exports/${id}/download`);
  const { records } = await ok(bench.gateway, 'GET', `/audit-logs?target_id=${id}`);
  const actions = (records as JsonObject[]).map(({ action, resource_type }) => `${action} ${resource_type}`);
  t.deepEqual(actions.sort(), ['create log-export', 'export log-export', 'export log-export']);
});

const ADMIN = { 'x-gateway-api-key': ADMIN_KEY, authorization: undefined };
const wrong = (name: string, body: JsonObject, param: string): Case => ({
  name: `an export is refused: ${name}`,
  method: createLogExport,
  headers: ADMIN,
  body: { requested_data: ['id'], filters: {}, ...body },
  refused: invalid(param),
});
const unknown = { status: 404, code: Code.NotFound, reason: 'not_found' } as const;
runCases(test, () => bench, [
  wrong('a field that is none', { requested_data: ['id', 'password'] }, 'requested_data'),
  wrong('no fields', { requested_data: [] }, 'requested_data'),
  wrong('an inverted range', { filters: { cost_min: 2, cost_max: 1 } }, 'filters.cost_max'),
  wrong(
    'a time that is none',
    { filters: { time_of_generation_min: 'now' } },
    'filters.time_of_generation_min',
  ),
  wrong('metadata that is none', { filters: { metadata: { a: { b: 1 } } } }, 'filters.metadata'),
  wrong('too many entries', { filters: { page_size: 10_000_001 } }, 'filters.page_size'),
  wrong('a foreign workspace', { workspace_id: randomUUID() }, 'workspace_id'),
  wrong(
    'a foreign workspace among the filters',
    { filters: { workspace_slug: 'x' } },
    'filters.workspace_slug',
  ),
  {
    name: 'an export is refused: no filters',
    method: createLogExport,
    headers: ADMIN,
    body: { requested_data: ['id'] },
    refused: invalid('filters'),
  },
  {
    name: 'an export is refused: an unknown filter',
    method: createLogExport,
    headers: ADMIN,
    over: ['rest'],
    body: { requested_data: ['id'], filters: { modell: 'x' } },
    refused: invalid('filters.modell'),
  },
  ...[getLogExport, startLogExport, cancelLogExport, downloadLogExport, updateLogExport].map(
    (method): Case => ({
      name: `${method.name} of an unknown export`,
      method,
      headers: ADMIN,
      body: { export_id: randomUUID() },
      refused: unknown,
    }),
  ),
  {
    name: 'restrictions of a foreign workspace',
    method: getLogExportFieldRestrictions,
    headers: ADMIN,
    body: { workspace_id: randomUUID() },
    refused: invalid('workspace_id'),
  },
]);
