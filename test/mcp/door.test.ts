// Who may come in: keys, origins, workspaces; and what a stranger is told.
import test from 'ava';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { post } from '../support/mcp/wire.ts';

let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startLegacyUpstream();
  gateway = await startMcpGateway({
    tools: { url: upstream.url },
    closed: { url: upstream.url, server: { defaultUserAccess: 'deny' } },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const hello = (version = '2025-11-25') =>
  JSON.stringify({
    jsonrpc: '2.0',
    id: 7,
    method: 'initialize',
    params: { protocolVersion: version, capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  });

test.serial(
  'CVE-2026-59822, CVE-2026-12773: a made-up bearer is nobody, on every path and with every header',
  async (t) => {
    const before = upstream.seen.length;
    const bearers = [
      'Bearer sk-made-up',
      'Bearer ',
      'Bearer null',
      'Bearer undefined',
      `Bearer ${WORKSPACE_KEY}x`,
      'Basic YTpi',
      'Bearer eyJhbGciOiJub25lIn0.e30.',
    ];
    for (const path of ['/tools/mcp', '/none/mcp', '/mcp', '/some/tools/mcp', '/tools/mcp/']) {
      for (const authorization of bearers) {
        const answer = await post(gateway.origin + path, hello(), { authorization });
        t.is(answer.status, 401, `${path} ${authorization}`);
        t.regex(answer.headers.get('www-authenticate') ?? '', /^Bearer .*resource_metadata="http/);
        t.is(answer.headers.get('mcp-session-id'), null);
      }
    }
    const others: Record<string, string>[] = [
      { 'x-gateway-api-key': '' },
      { 'x-gateway-api-key': 'x' },
      { 'mcp-session-id': 'mcp1_x' },
      { 'x-mcp-auth': 'Bearer x' },
    ];
    for (const headers of others)
      t.is(
        (
          await post(`${gateway.origin}/tools/mcp`, hello(), { authorization: '', ...headers } as Record<
            string,
            string
          >)
        ).status,
        401,
      );
    for (const method of ['GET', 'DELETE']) {
      const answer = await fetch(`${gateway.origin}/tools/mcp`, {
        method,
        headers: { authorization: 'Bearer x', accept: 'text/event-stream' },
      });
      t.is(answer.status, 401);
      await answer.body?.cancel();
    }
    t.is(upstream.seen.length, before);
  },
);

test.serial(
  'an admin key, a foreign workspace and a foreign origin are 403; a server that is none 404',
  async (t) => {
    const status = async (path: string, headers: Record<string, string> = {}) =>
      (await post(gateway.origin + path, hello(), headers)).status;
    t.is(await status('/tools/mcp', { authorization: `Bearer ${ADMIN_KEY}` }), 403);
    t.is(await status('/elsewhere/tools/mcp'), 403);
    t.is(await status('/none/mcp'), 404);
    t.is(await status('/tools/mcp', { origin: 'https://evil.example' }), 403);
    t.is(await status('/tools/mcp', { origin: 'null' }), 403);
    t.is(await status('/tools/mcp', { origin: gateway.origin }), 200);
    t.is(await status(`/${gateway.app.tenancy.workspaceId}/tools/mcp`), 200);
    t.is(await status('/tools/mcp', { authorization: '', 'x-gateway-api-key': WORKSPACE_KEY }), 200);
  },
);

test('the metadata of a resource is the same for servers that there are and that there are not', async (t) => {
  for (const slug of ['tools', 'none']) {
    const answer = await fetch(`${gateway.origin}/.well-known/oauth-protected-resource/${slug}/mcp`);
    t.is(answer.status, 200);
    t.like(await answer.json(), {
      resource: `${gateway.origin}/${slug}/mcp`,
      scopes_supported: ['mcp.invoke'],
    });
  }
});

test.serial('a session is its caller’s at its server: another server, or a made-up id, is 404', async (t) => {
  const opened = await post(`${gateway.origin}/tools/mcp`, hello());
  const session = opened.headers.get('mcp-session-id')!;
  t.regex(session, /^mcp1_[A-Za-z0-9_-]+$/);
  const list = JSON.stringify({ jsonrpc: '2.0', id: 8, method: 'tools/list' });
  const asked = (path: string, id: string) => post(gateway.origin + path, list, { 'mcp-session-id': id });
  t.is((await asked('/tools/mcp', session)).status, 200);
  for (const [path, id] of [
    ['/closed/mcp', session],
    ['/tools/mcp', `${session.slice(0, -2)}AA`],
    ['/tools/mcp', 'x'],
    ['/tools/mcp', upstream.seen.at(-1)!.headers['mcp-session-id'] as string],
  ] as const)
    t.is((await asked(path, id)).status, 404, id);
});

test.serial('the gateway’s key and its own headers never reach a server', (t) => {
  t.true(upstream.seen.length > 0);
  for (const { headers } of upstream.seen) t.false(JSON.stringify(headers).includes(WORKSPACE_KEY));
});
