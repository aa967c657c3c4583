// Whose requests analytics add up: the caller's workspace's, its own where the settings say so, and an archived
// workspace's by its id. Every path is asked, and answers what an organisation key is told of these requests alone.
import { randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import type { RequestRecord } from '../../src/call/record.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { bookEntry, personKey, serviceKey } from './logs-books.ts';

const GRAPHS =
  'requests cost latency tokens users users/requests errors errors/rate errors/stacks errors/status-codes ' +
  'requests/rescued cache/hit-rate cache/latency feedbacks feedbacks/scores feedbacks/weighted feedbacks/ai-models';
const GROUPS =
  'users ai-models workspaces metadata/team ai_service model status_code api_key config workspace provider prompt';
const PATHS = [
  ...GRAPHS.split(' ').map((path) => `analytics/graphs/${path}`),
  ...GROUPS.split(' ').map((path) => `analytics/groups/${path}`),
  'analytics/summary/cache',
  'logs/groups/model',
];

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

/** Range of a minute's length that holds what is recorded here. */
const FROM = Date.now() - 3_600_000;
const RANGE = `time_of_generation_min=${new Date(FROM).toISOString()}&time_of_generation_max=${new Date(FROM + 60_000).toISOString()}`;

function record(more: Partial<RequestRecord>): RequestRecord {
  const usage = { promptTokens: 3, completionTokens: 4, totalTokens: 7 };
  const entry = bookEntry(gateway, {
    createdAt: FROM + 1000,
    usage,
    cost: '10000000001',
    cacheStatus: 'HIT',
    saved: '7',
    retries: 1,
    metadata: { _user: randomUUID(), team: randomUUID() },
    ...more,
  });
  gateway.app.requestLog.record(entry);
  return entry;
}

/** All answers, without what they were added up from. */
async function answers(query: string, key?: string): Promise<Json> {
  const found = await Promise.all(
    PATHS.map(async (path) => {
      const given = key === undefined ? {} : { key };
      const { source: _, ...json } = await ok(gateway, 'GET', `/${path}?${RANGE}${query}`, given);
      return [path, json] as const;
    }),
  );
  return Object.fromEntries(found);
}

const requestsIn = (all: Json): unknown => ((all['analytics/graphs/requests'] as Json).summary as Json).total;

async function refused(
  t: ExecutionContext,
  query: string,
  key: string | undefined,
  param: string,
): Promise<void> {
  for (const path of PATHS) {
    const given = key === undefined ? {} : { key };
    const { status, json } = await send(gateway, 'GET', `/${path}?${RANGE}${query}`, given);
    t.is(status, 400, path);
    t.is((json.error as Json).param, param, path);
  }
}

async function like(key: string, traceId: string, value: number): Promise<void> {
  await ok(gateway, 'POST', '/feedback', { key, body: { trace_id: traceId, value } });
}

test.serial(
  'a workspace key sees its workspace, an organisation key all or the one that it names',
  async (t) => {
    const { id, slug } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Second' } });
    const workspaceId = String(id);
    const [own, theirs] = await Promise.all([serviceKey(gateway), serviceKey(gateway, workspaceId)]);
    const first = record({});
    const second = record({ workspaceId });
    record({ workspaceId, statusCode: 500 });
    await like(own.key, first.traceId, 3);
    await like(theirs.key, second.traceId, -5);
    const all = await answers('');
    t.is(requestsIn(all), 3);
    t.is(((all['analytics/groups/workspaces'] as Json).data as unknown[]).length, 2);
    t.deepEqual((all['analytics/graphs/feedbacks'] as Json).summary, { total: 2 });
    const named = await answers(`&workspace_slug=${slug}`);
    t.is(requestsIn(named), 2);
    t.deepEqual(await answers('', theirs.key), named);
    t.deepEqual(await answers(`&workspace_slug=${slug}`, theirs.key), named);
    t.is(requestsIn(await answers('', own.key)), 1);
    for (const foreign of [slug, id, randomUUID()])
      await refused(t, `&workspace_slug=${foreign}`, own.key, 'workspace_slug');
    await refused(t, `&workspace_slug=${randomUUID()}`, undefined, 'workspace_slug');
    // Once it is archived it is found by its id, and still among all.
    await ok(gateway, 'DELETE', `/admin/workspaces/${id}`, { body: { name: 'Second', force_delete: true } });
    t.deepEqual(await answers(''), all);
    t.deepEqual(await answers(`&workspace_slug=${id}`), named);
  },
);

test.serial('where people see their own data alone', async (t) => {
  const { id } = await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Discreet' } });
  const workspaceId = String(id);
  const [member, manager] = await Promise.all([
    personKey(gateway, 'member', ['analytics.view', 'logs.write'], workspaceId),
    personKey(gateway, 'manager', ['analytics.view', 'logs.write'], workspaceId),
  ]);
  for (const { id: apiKeyId, userId, key } of [member, manager]) {
    const { traceId } = record({ workspaceId, apiKeyId, userId });
    await like(key, traceId, 4);
  }
  const set = (security_settings: Json) =>
    ok(gateway, 'PUT', `/admin/workspaces/${id}`, { body: { security_settings } });
  const both = await answers(`&workspace_slug=${id}`);
  t.is(requestsIn(both), 2);
  t.deepEqual(await answers('', member.key), both);
  await set({ membersViewAllData: false });
  const alone = await answers(`&workspace_slug=${id}&api_key_ids=${member.id}`);
  t.is(requestsIn(alone), 1);
  t.deepEqual(await answers('', member.key), alone);
  t.is(requestsIn(await answers(`&api_key_ids=${manager.id}`, member.key)), 0);
  t.deepEqual(await answers('', manager.key), both);
  await set({ membersViewAllData: false, managersViewAllData: false });
  t.deepEqual(
    await answers('', manager.key),
    await answers(`&workspace_slug=${id}&api_key_ids=${manager.id}`),
  );
  await set({ membersViewAnalytics: false, managersViewAllData: true });
  for (const path of PATHS)
    t.is((await send(gateway, 'GET', `/${path}?${RANGE}`, { key: member.key })).status, 403);
  t.is(requestsIn(await answers('', manager.key)), 2);
});
