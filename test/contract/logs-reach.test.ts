// Whose entries a caller sees: its workspace's, its own where the settings say so, and an archived workspace's by its id.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { bookEntry, personKey, serviceKey } from './logs-books.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

const record = (more: Partial<RequestRecord>): RequestRecord => {
  const entry = bookEntry(gateway, more);
  gateway.app.requestLog.record(entry);
  return entry;
};
const read = async (key: string | undefined, query: string): Promise<unknown[]> => {
  const { data } = await ok(gateway, 'GET', `/logs?${query}`, key === undefined ? {} : { key });
  return (data as Json[]).map(({ id }) => id);
};

test('a workspace key sees its workspace, an organisation key all or the one that it names', async (t) => {
  const { id: workspaceId, slug } = await ok(gateway, 'POST', '/admin/workspaces', {
    body: { name: 'Second' },
  });
  const traceId = randomUUID();
  const first = record({ traceId });
  const second = record({ traceId, workspaceId: String(workspaceId) });
  const query = `trace_id=${traceId}&order=asc`;
  t.deepEqual((await read(undefined, query)).sort(), [first.id, second.id].sort());
  t.deepEqual(await read(undefined, `${query}&workspace_slug=${slug}`), [second.id]);
  const own = await serviceKey(gateway);
  t.deepEqual(await read(own.key, query), [first.id]);
  t.deepEqual(await read(own.key, `${query}&workspace_slug=${first.workspaceId}`), [first.id]);
  for (const foreign of [String(slug), String(workspaceId), randomUUID(), '']) {
    const { status, json } = await send(gateway, 'GET', `/logs?workspace_slug=${foreign}`, { key: own.key });
    t.is(status, 400, foreign);
    t.is((json.error as Json).param, 'workspace_slug');
  }
  t.is((await send(gateway, 'GET', `/logs/${second.id}`, { key: own.key })).status, 404);
  t.is((await send(gateway, 'GET', `/logs/${second.id}`)).status, 200);
  // Once it is archived its entries are found by its id alone.
  await ok(gateway, 'DELETE', `/admin/workspaces/${workspaceId}`, { body: { name: 'Second' } });
  t.deepEqual(await read(undefined, `${query}&workspace_slug=${workspaceId}`), [second.id]);
  t.is((await send(gateway, 'GET', `/logs?workspace_slug=${slug}`)).status, 400);
});

test('where people see their own data alone: lists, one entry, traces and feedback', async (t) => {
  const { id: workspace } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Discreet' } });
  const workspaceId = String(workspace);
  const scopes = ['logs.list', 'logs.view', 'logs.write', 'logs.export', 'completions.write'];
  const [member, manager] = await Promise.all([
    personKey(gateway, 'member', scopes, workspaceId),
    personKey(gateway, 'manager', scopes, workspaceId),
  ]);
  const traceId = randomUUID();
  const place = { traceId, workspaceId };
  const own = record({ ...place, userId: member.userId, apiKeyId: member.id, createdAt: Date.now() - 1 });
  const other = record({ ...place, userId: manager.userId, apiKeyId: manager.id });
  const query = `trace_id=${traceId}&order=asc`;
  t.deepEqual(await read(member.key, query), [own.id, other.id]);
  const set = (body: Json) =>
    ok(gateway, 'PUT', `/admin/workspaces/${workspaceId}`, { body: { security_settings: body } });
  await set({ membersViewAllData: false });
  t.deepEqual(await read(member.key, query), [own.id]);
  t.deepEqual(await read(member.key, `${query}&api_key_ids=${manager.id}`), []);
  t.deepEqual(await read(manager.key, query), [own.id, other.id]);
  t.is((await send(gateway, 'GET', `/logs/${own.id}`, { key: member.key })).status, 200);
  t.is((await send(gateway, 'GET', `/logs/${other.id}`, { key: member.key })).status, 404);
  const trace = await ok(gateway, 'GET', `/traces/${traceId}`, { key: member.key });
  t.is(trace.requests, 1);
  t.is((await ok(gateway, 'GET', `/traces/${traceId}`, { key: manager.key })).requests, 2);
  const theirs = await ok(gateway, 'POST', '/feedback', {
    key: manager.key,
    body: { trace_id: traceId, value: 1 },
  });
  const path = `/feedback/${(theirs.feedback_ids as string[])[0]}`;
  t.is((await send(gateway, 'PUT', path, { key: member.key, body: { value: 2 } })).status, 404);
  // The trace is both of theirs, what the manager thinks of the manager's call is not.
  const feedbackOf = async (key: string): Promise<unknown[]> => {
    const seen = await Promise.all([
      ok(gateway, 'GET', `/traces/${traceId}`, { key }),
      ok(gateway, 'GET', `/logs/${own.id}`, { key }).then(({ entry }) => entry as Json),
      ok(gateway, 'GET', `/logs?${query}`, { key }).then(({ data }) => (data as Json[])[0]),
    ]);
    return seen.map((one) => [(one?.feedback as Json[] | undefined)?.length, one?.weighted_feedback]);
  };
  t.deepEqual(await feedbackOf(member.key), Array(3).fill([0, undefined]));
  await ok(gateway, 'POST', '/feedback', { key: member.key, body: { trace_id: traceId, value: 3 } });
  t.deepEqual(await feedbackOf(member.key), Array(3).fill([1, 3]));
  // Filters mean what is shown: 3 to the member, the mean of 1 and 3 to the manager.
  const mean = (value: number): string =>
    `${query}&weighted_feedback_min=${value}&weighted_feedback_max=${value}`;
  t.deepEqual(await read(member.key, mean(3)), [own.id]);
  t.deepEqual(await read(member.key, mean(2)), []);
  t.deepEqual(await read(manager.key, mean(2)), [own.id, other.id]);
  t.deepEqual(await read(manager.key, mean(3)), []);
  await set({ membersViewAllData: false, managersViewAllData: false });
  t.deepEqual(await read(manager.key, query), [other.id]);
});

test('feedback counts where it was given: a workspace has its own mean, the organisation that of all', async (t) => {
  const { id } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Judges' } });
  const [here, there] = [await serviceKey(gateway), await serviceKey(gateway, String(id))];
  const traceId = randomUUID();
  const entry = record({ traceId });
  const give = (key: string, values: readonly number[]): Promise<Json> =>
    ok(gateway, 'POST', '/feedback', {
      key,
      body: values.map((value) => ({ trace_id: traceId, value })) as unknown as Json,
    });
  await give(here.key, Array(25).fill(2));
  await give(there.key, Array(25).fill(-4));
  const time = `time_of_generation_min=${new Date(entry.createdAt).toISOString()}`;
  const range = `${time}&time_of_generation_max=${new Date(entry.createdAt + 1).toISOString()}`;
  for (const [key, mean, count] of [
    [here.key, 2, 25],
    [ADMIN_KEY, -1, 50],
  ] as const) {
    const asked = (value: number): string =>
      `trace_id=${traceId}&weighted_feedback_min=${value}&weighted_feedback_max=${value}`;
    const shown = await ok(gateway, 'GET', `/logs/${entry.id}`, { key });
    t.like(shown.entry, { weighted_feedback: mean });
    t.is((await ok(gateway, 'GET', `/traces/${traceId}`, { key })).weighted_feedback, mean);
    t.is(((shown.entry as Json).feedback as Json[]).length, 20);
    for (const value of [2, -1, -4])
      t.deepEqual(await read(key, asked(value)), value === mean ? [entry.id] : [], `${value}`);
    // What was given elsewhere has no entry of its own there.
    const graph = (value: number) =>
      ok(gateway, 'GET', `/analytics/graphs/feedbacks?${range}&${asked(value)}`, { key });
    t.like((await graph(mean)).summary, { total: 25 }, `of ${count}`);
    t.like((await graph(mean + 1)).summary, { total: 0 });
  }
});

test('who may not see payloads sees numbers; who may see neither sees nothing', async (t) => {
  const { id: workspace } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Numbers' } });
  const member = await personKey(
    gateway,
    'member',
    ['logs.view', 'logs.write', 'completions.write'],
    String(workspace),
  );
  const writer = await serviceKey(gateway, String(workspace));
  const log = { request: { url: '/x', body: { said: 'canary' } }, response: { body: { said: 'canary' } } };
  const { id } = await ok(gateway, 'POST', '/logs', { key: writer.key, body: log });
  const theirs = await ok(gateway, 'POST', '/logs', { key: member.key, body: log });
  const { entry } = await ok(gateway, 'GET', `/logs/${theirs.id}`);
  t.like(entry as Json, { user_id: member.userId });
  t.regex(String(((entry as Json).metadata as Json)._user), /@people\.test$/);
  const get = () => send(gateway, 'GET', `/logs/${id}`, { key: member.key });
  t.true(JSON.stringify((await get()).json).includes('canary'));
  const set = (body: Json) =>
    ok(gateway, 'PUT', `/admin/workspaces/${workspace}`, { body: { security_settings: body } });
  await set({ membersViewLogs: false });
  const { json, status } = await get();
  t.is(status, 200);
  t.false(JSON.stringify(json).includes('canary'));
  t.is((json.metrics as Json).id, id);
  await set({ membersViewLogs: false, membersViewLogMetadata: false });
  t.is((await get()).status, 403);
});

test('an organisation may keep what is said in calls from its admins, too', async (t) => {
  const { id: workspace } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Sealed' } });
  const scopes = ['logs.list', 'logs.view', 'logs.export', 'analytics.view'];
  const admin = await personKey(gateway, 'admin', scopes, String(workspace), 'admin');
  const writer = await serviceKey(gateway, String(workspace));
  const log = { request: { url: '/x', body: { said: 'canary' } }, response: { body: { said: 'canary' } } };
  const { id } = await ok(gateway, 'POST', '/logs', { key: writer.key, body: log });
  const { key } = admin;
  const get = () => send(gateway, 'GET', `/logs/${id}`, { key });
  const made = { filters: {}, requested_data: ['request'] };
  const exported = () => send(gateway, 'POST', '/logs/exports', { key, body: made });
  t.true(JSON.stringify((await get()).json).includes('canary'));
  t.is((await exported()).status, 200);
  const set = (body: Json) =>
    ok(gateway, 'PUT', `/admin/workspaces/${workspace}`, { body: { security_settings: body } });
  await set({ organisationAdminsViewLogs: false });
  const { json, status } = await get();
  t.is(status, 200);
  t.false(JSON.stringify(json).includes('canary'));
  t.is((await exported()).status, 403);
  t.is((await send(gateway, 'GET', '/logs', { key })).status, 200);
  await set({ organisationAdminsViewLogs: false, organisationAdminsViewLogMetadata: false });
  t.is((await get()).status, 403);
  t.is((await send(gateway, 'GET', '/logs', { key })).status, 403);
  t.is((await send(gateway, 'GET', '/logs', { key: writer.key })).status, 200);
});
