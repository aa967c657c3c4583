// One entry in the log for each tool call, also for those that are refused before any server is asked: by the door of the
// server, by a name that leads nowhere, by headers that disagree, by limits.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern, post, type WireAnswer } from '../support/mcp/wire.ts';
import { type Person, peopleOf } from '../support/people.ts';

let upstream: Upstream;
let gateway: TestGateway;
let user: Person;
test.before(async () => {
  upstream = await startModernUpstream();
  gateway = await startMcpGateway({
    tools: { url: upstream.url },
    closed: { url: upstream.url, server: { defaultUserAccess: 'deny' } },
  });
  user = await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member');
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const CALL = { name: 'test_simple_text', arguments: { city: 'Ulm' } };
const call = (path: string, params: Record<string, unknown> = CALL, headers: Record<string, string> = {}) =>
  modern(gateway.origin + path, 'tools/call', params, {
    ...{ authorization: `Bearer ${user.key}`, 'x-gateway-metadata': '{"team":"blue"}' },
    ...headers,
  });
const entryOf = async ({ headers }: WireAnswer): Promise<Record<string, unknown>> => {
  const id = headers.get('x-gateway-request-id');
  const answer = await fetch(`${gateway.origin}/v1/logs/${id}`, {
    headers: { authorization: `Bearer ${ADMIN_KEY}` },
  });
  const json = (await answer.json()) as { metrics?: Record<string, unknown> };
  return { ...json.metrics, text: JSON.stringify(json) };
};

test.serial('every refusal has its entry: server, tool, key, user, metadata, arguments', async (t) => {
  const refused: [WireAnswer, number, string, number][] = [
    [await call('/closed/mcp'), 403, 'closed__test_simple_text', 403],
    [await call('/none/mcp'), 404, 'none__test_simple_text', 404],
    [await call('/mcp', { ...CALL, name: 'none__x' }), 200, 'mcp__none__x', 404],
    [await call('/mcp', { ...CALL, name: 'closed__x' }), 200, 'mcp__closed__x', 404],
    [await call('/tools/mcp', CALL, { 'mcp-name': 'other' }), 400, 'tools__test_simple_text', 400],
    [await call('/tools/mcp', CALL, { 'mcp-method': 'tools/list' }), 400, 'tools__test_simple_text', 400],
    [await call('/elsewhere/tools/mcp'), 403, 'tools__test_simple_text', 403],
  ];
  for (const [answer, status, model, logged] of refused) {
    t.is(answer.status, status, answer.text);
    t.is(answer.json.id, 1, 'the request is named');
    const entry = await entryOf(answer);
    t.like(entry, { ai_org: 'mcp', ai_model: model, response_status_code: logged, is_success: false });
    t.is((entry['metadata.key'] as string[])[0], 'team');
    t.regex(String(entry.text), /Ulm/);
  }
  t.is(upstream.seen.length, 0, 'no server was asked');
});

test.serial('a call over a limit names its tool, too', async (t) => {
  const { id } = await ok(gateway, 'POST', '/policies/rate-limits', {
    body: {
      ...{ workspace_id: 'default', target: 'mcp_tools', type: 'requests', unit: 'rpd', value: 1 },
      ...{
        conditions: [{ key: 'mcp_tool', value: 'test_error_handling' }],
        group_by: [{ key: 'mcp_server' }],
      },
    },
  });
  const limited = { name: 'test_error_handling', arguments: {} };
  t.is((await call('/tools/mcp', limited)).status, 200);
  const answer = await call('/tools/mcp', limited);
  t.is(answer.status, 429);
  t.regex(answer.headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  t.like(await entryOf(answer), {
    ...{ ai_org: 'mcp', ai_model: 'tools__test_error_handling', virtual_key: 'tools' },
    ...{ response_status_code: 429, is_success: false },
  });
  await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
});

test.serial('what is no tool call has no entry, and garbage no second answer', async (t) => {
  const answer = await modern(`${gateway.origin}/none/mcp`, 'tools/list');
  t.is(answer.status, 404);
  const headers = { authorization: `Bearer ${ADMIN_KEY}` };
  const id = answer.headers.get('x-gateway-request-id');
  t.is((await fetch(`${gateway.origin}/v1/logs/${id}`, { headers })).status, 404);
  const nothing = { jsonrpc: '2.0', id: 1, method: 'tools/call' };
  for (const body of [
    '{',
    '[]',
    '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
    JSON.stringify({ ...nothing, params: { name: 5 } }),
  ])
    t.is((await post(`${gateway.origin}/none/mcp`, body)).status, 404);
});
