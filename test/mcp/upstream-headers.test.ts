// Headers that a server gets: those of the integration whatever their names, of the caller those that are named, and never
// a key of the gateway, in whichever header and form it comes.
import test from 'ava';
import { ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern } from '../support/mcp/wire.ts';

let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startModernUpstream();
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function served(slug: string, configurations: Record<string, unknown>): Promise<void> {
  const body = { name: slug, slug, url: upstream.url, auth_type: 'none', transport: 'http' };
  await ok(gateway, 'POST', '/mcp-integrations', {
    body: { ...body, workspace_id: 'default', configurations },
  });
  await ok(gateway, 'POST', '/mcp-servers', {
    body: { name: slug, slug, mcp_integration_id: slug, workspace_id: 'default' },
  });
}
async function got(slug: string, headers: Record<string, string>) {
  upstream.seen.length = 0;
  t0(await modern(`${gateway.origin}/${slug}/mcp`, 'tools/list', {}, headers));
  return upstream.seen.at(-1)?.headers ?? {};
}
function t0({ status, text }: { readonly status: number; readonly text: string }): void {
  if (status !== 200) throw new Error(text);
}

test.serial('custom headers reach the server, x-api-key, cookie and user-agent among them', async (t) => {
  const custom = {
    'x-api-key': 'of-the-server-123',
    cookie: 'a=b',
    'User-Agent': 'desk/1',
  };
  await served('custom', { custom_headers: custom, passthrough_headers: ['x-api-key', 'x-team'] });
  const seen = await got('custom', { 'x-api-key': 'of-the-caller', 'x-team': 'blue', cookie: 'caller=1' });
  t.like(seen, {
    ...{ 'x-api-key': 'of-the-server-123', cookie: 'a=b', 'user-agent': 'desk/1' },
    'x-team': 'blue',
  });
});

test.serial('headers of the caller go on when they are named, keys of the gateway never', async (t) => {
  const names = ['x-api-key', 'x-other', 'authorization', 'user-agent'];
  await served('passed', { passthrough_headers: names });
  const own = { authorization: 'Basic YTpi', 'x-gateway-api-key': WORKSPACE_KEY };
  t.like(await got('passed', { ...own, 'x-api-key': 'their-own', 'user-agent': 'agent/2' }), {
    ...{ 'x-api-key': 'their-own', authorization: 'Basic YTpi', 'user-agent': 'agent/2' },
  });
  for (const value of [
    WORKSPACE_KEY,
    `Bearer ${WORKSPACE_KEY}`,
    `Key ${WORKSPACE_KEY}`,
    `a=1; key="${WORKSPACE_KEY}"`,
  ]) {
    const seen = await got('passed', { 'x-api-key': value, 'x-other': value });
    t.false(JSON.stringify(seen).includes(WORKSPACE_KEY), value);
  }
});

test.serial('headers of the protocol are refused in both lists', async (t) => {
  const body = { name: 'x', url: upstream.url, auth_type: 'none', transport: 'http' };
  for (const [configurations, param] of [
    [{ custom_headers: { Accept: 'x' } }, 'custom_headers.Accept'],
    [{ custom_headers: { 'last-event-id': 'x' } }, 'custom_headers.last-event-id'],
    [{ passthrough_headers: ['Origin'] }, 'passthrough_headers[0]'],
  ] as const) {
    const { status, json } = await send(gateway, 'POST', '/mcp-integrations', {
      body: { ...body, configurations },
    });
    t.is(status, 400);
    t.is((json.error as { param?: string }).param, `configurations.${param}`);
  }
});

test.serial('every slug that a server may have leads to it, and none is a path of the gateway', async (t) => {
  await served('slugs', {});
  const made = (slug: string) =>
    send(gateway, 'POST', '/mcp-servers', {
      body: { name: 'x', slug, mcp_integration_id: 'slugs', workspace_id: 'default' },
    });
  for (const slug of ['_abc', '-abc', 'a-b_c', 'ABC', '123', 's'.repeat(50)]) {
    t.is((await made(slug)).status, 200, slug);
    for (const path of [`/${slug}/mcp`, `/default/${slug}/mcp`])
      t.is((await modern(gateway.origin + path, 'tools/list')).status, 200, path);
  }
  for (const slug of [
    'oauth',
    'Admin',
    'docs',
    'mcp',
    'PROXY',
    'console',
    'v1beta',
    'exports',
    'ab',
    's'.repeat(51),
  ])
    t.is((await made(slug)).status, 400, slug);
});
