// Policies with the target mcp_tools: what may be said of them, and that tool calls, and nothing else, are counted.
import test from 'ava';
import { ok, send } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern } from '../support/mcp/wire.ts';

let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startModernUpstream();
  gateway = await startMcpGateway({ one: { url: upstream.url }, two: { url: upstream.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const place = { workspace_id: 'default' };
const rate = (more: object) => ({
  ...place,
  target: 'mcp_tools',
  conditions: [{ key: 'mcp_server', value: 'one' }],
  group_by: [{ key: 'mcp_tool' }],
  type: 'requests',
  unit: 'rpd',
  value: 2,
  ...more,
});
const call = (slug: string, name: string) =>
  modern(`${gateway.origin}/${slug}/mcp`, 'tools/call', { name, arguments: {} });

test.serial('a rate of a server counts each tool apart; another server and lists are free', async (t) => {
  const { id } = await ok(gateway, 'POST', '/policies/rate-limits', { body: rate({}) });
  for (let i = 0; i < 2; i++) t.is((await call('one', 'test_simple_text')).status, 200);
  const refused = await call('one', 'test_simple_text');
  t.is(refused.status, 429);
  t.truthy(refused.headers.get('retry-after'));
  t.truthy(refused.json.error);
  t.is((await call('one', 'test_image_content')).status, 200, 'another tool');
  t.is((await call('two', 'test_simple_text')).status, 200, 'another server');
  t.is((await modern(`${gateway.origin}/one/mcp`, 'tools/list')).status, 200);
  const shown = await ok(gateway, 'GET', `/policies/rate-limits/${id}`);
  t.is(shown.target, 'mcp_tools');
  await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
});

test.serial('a budget of requests of one tool, by its key', async (t) => {
  const { id } = await ok(gateway, 'POST', '/policies/usage-limits', {
    body: {
      ...place,
      target: 'mcp_tools',
      conditions: [{ key: 'mcp_tool', value: 'test_simple_text' }],
      group_by: [{ key: 'mcp_server' }, { key: 'mcp_tool' }],
      type: 'requests',
      credit_limit: 1,
    },
  });
  t.is((await call('two', 'test_simple_text')).status, 200);
  const refused = await call('two', 'test_simple_text');
  t.true(refused.status === 412 || refused.status === 429, refused.text);
  t.is((await call('one', 'test_simple_text')).status, 200, 'counted apart');
  await ok(gateway, 'DELETE', `/policies/usage-limits/${id}`);
});

test.serial('a policy of model calls does not count tool calls', async (t) => {
  const { id } = await ok(gateway, 'POST', '/policies/rate-limits', {
    body: {
      ...rate({ value: 1 }),
      target: 'llm',
      conditions: [{ key: 'api_key', value: '*' }],
      group_by: [{ key: 'api_key' }],
    },
  });
  for (let i = 0; i < 2; i++) t.is((await call('one', 'test_simple_text')).status, 200);
  await ok(gateway, 'DELETE', `/policies/rate-limits/${id}`);
});

test('what does not fit the target is refused, naming the member; the target never changes', async (t) => {
  const refused = async (path: string, body: object, param: string) => {
    const answer = await send(gateway, 'POST', path, { body: body as never });
    t.is(answer.status, 400);
    t.is((answer.json.error as { param?: string }).param, param);
  };
  const rates = '/policies/rate-limits';
  await refused(rates, rate({ target: 'agents' }), 'target');
  await refused(rates, rate({ target: 'llm' }), 'conditions[0].key');
  const { target: _, ...targetless } = rate({});
  await refused(rates, targetless, 'conditions[0].key');
  await refused(rates, rate({ group_by: [{ key: 'provider' }] }), 'group_by[0].key');
  await refused(rates, rate({ type: 'tokens' }), 'type');
  const { id } = await ok(gateway, 'POST', rates, {
    body: rate({ conditions: [{ key: 'mcp_server', value: 'x' }] }),
  });
  const changed = await send(gateway, 'PUT', `${rates}/${id}`, { body: { target: 'llm' } });
  t.is(changed.status, 400);
  t.is(
    (await send(gateway, 'PUT', `${rates}/${id}`, { body: { target: 'mcp_tools', value: 3 } })).status,
    200,
  );
});
