// Subscriptions of clients of 2026-07-28, at servers of both generations and at the endpoint of all servers: they hear
// what is switched, end with the key, and go on where the server has begun anew.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN, modern } from '../support/mcp/wire.ts';

let older: Upstream;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, newer] = await Promise.all([startLegacyUpstream(), startModernUpstream()]);
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

interface Heard {
  readonly text: () => string;
  /** Resolves when the stream has ended. */
  readonly ended: Promise<void>;
}

async function listen(path: string, key: string, signal: AbortSignal): Promise<Heard> {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const method = 'subscriptions/listen';
  const params = { notifications: { toolsListChanged: true }, _meta };
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    signal,
    headers: {
      ...{ authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      ...{ accept: 'application/json, text/event-stream', 'mcp-protocol-version': MODERN },
      'mcp-method': method,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'mine', method, params }),
  });
  let text = '';
  const read = async (): Promise<void> => {
    try {
      for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) text += piece;
    } catch {
      // A stream that is cut off has ended, too.
    }
  };
  return { text: () => text, ended: read() };
}

for (const [path, slug] of [
  ['/older/mcp', 'older'],
  ['/newer/mcp', 'newer'],
  ['/mcp', 'older'],
  ['/mcp', 'newer'],
] as const)
  test.serial(`${path}: a switch at the ${slug} server is heard, and a revoked key ends it`, async (t) => {
    const body = { name: 'short-lived', workspace_id: 'default', scopes: ['mcp.invoke'] };
    const made = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
    const stop = new AbortController();
    const heard = await listen(path, String(made.key), stop.signal);
    await eventually('it is acknowledged', () => heard.text().includes('subscriptions/acknowledged'));
    for (const enabled of [false, true]) {
      const before = heard.text().length;
      await switched(slug, enabled);
      await eventually('the change is heard', () =>
        heard.text().slice(before).includes('notifications/tools/list_changed'),
      );
    }
    await ok(gateway, 'DELETE', `/api-keys/${String(made.id)}`, {});
    await heard.ended;
    t.regex(heard.text(), /"io.modelcontextprotocol\/subscriptionId":"mine"/);
    stop.abort();
  });

test.serial('calls and subscriptions go on at an older server that has begun anew', async (t) => {
  const call = () =>
    modern(`${gateway.origin}/older/mcp`, 'tools/call', { name: 'test_simple_text', arguments: {} });
  t.is((await call()).json.result?.resultType, 'complete');
  const stop = new AbortController();
  const heard = await listen('/older/mcp', WORKSPACE_KEY, stop.signal);
  await eventually('it is acknowledged', () => heard.text().includes('subscriptions/acknowledged'));
  older.forget();
  t.is((await call()).json.result?.resultType, 'complete');
  await switched('older', false);
  await eventually('the change is heard', () => heard.text().includes('notifications/tools/list_changed'));
  await switched('older', true);
  stop.abort();
  await heard.ended;
});

async function switched(slug: string, enabled: boolean): Promise<void> {
  const answer = await fetch(`${gateway.origin}/v1/mcp-servers/${slug}/capabilities`, {
    method: 'PUT',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: JSON.stringify({ capabilities: [{ name: 'test_image_content', type: 'tool', enabled }] }),
  });
  if (answer.status !== 200) throw new Error(await answer.text());
}
