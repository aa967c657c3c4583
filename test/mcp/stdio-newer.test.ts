// Programs that speak 2026-07-28, alone or with the older revisions: asked what they speak, and called without sessions.
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { MODERN, modern } from '../support/mcp/wire.ts';

const SCRIPT = fileURLToPath(new URL('../support/mcp/newer-program.ts', import.meta.url));
const NAMES = ['newer', 'both'];
let gateway: TestGateway;
test.before(async () => {
  const commands = Object.fromEntries(
    NAMES.map((name) => [name, { command: process.execPath, args: [SCRIPT, name] }]),
  );
  gateway = await startGateway({
    PATH: process.env.PATH ?? '',
    GATEWAY_MCP_STDIO: JSON.stringify(commands),
  });
  for (const name of NAMES) {
    const integration = { name, slug: `program-${name}`, url: `stdio:${name}`, transport: 'stdio' };
    await ok(gateway, 'POST', '/mcp-integrations', {
      body: { ...integration, auth_type: 'none', workspace_id: 'default' },
    });
    await ok(gateway, 'POST', '/mcp-servers', {
      body: { name, slug: name, mcp_integration_id: `program-${name}`, workspace_id: 'default' },
    });
  }
});
test.after.always(async () => {
  await gateway?.close();
});

const at = (slug: string) => new URL(`${gateway.origin}/${slug}/mcp`);
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;
const requestInit = { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } };
const about = async (slug: string, key = WORKSPACE_KEY) => {
  const own = { authorization: `Bearer ${key}` };
  const { json, text } = await modern(String(at(slug)), 'tools/call', { name: 'about', arguments: {} }, own);
  if (json.result === undefined) throw new Error(text);
  const [era = '', pid = ''] = textOf(json.result).split(' ');
  return { era, pid: Number(pid) };
};

test.serial('newer clients: one process for each caller, in 2026-07-28', async (t) => {
  const body = { name: 'other', workspace_id: 'default', scopes: ['mcp.invoke'] };
  const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  for (const slug of NAMES) {
    const [first, again, other] = [await about(slug), await about(slug), await about(slug, String(key))];
    t.is(first.era, 'modern');
    t.is(again.pid, first.pid);
    t.not(other.pid, first.pid);
  }
});

test.serial(
  'older clients: the handshake of a program that has it, and a bridge where it has not',
  async (t) => {
    for (const [slug, era] of [
      ['newer', 'modern'],
      ['both', 'legacy'],
    ] as const) {
      const client = new OlderClient({ name: 'older', version: '1' });
      await client.connect(new OlderTransport(at(slug), { requestInit }) as never);
      t.is(client.getServerVersion()?.name, 'newer-program');
      t.regex(textOf(await client.callTool({ name: 'about', arguments: {} })), new RegExp(`^${era} `));
      await client.close();
    }
  },
);

test.serial('the official client: progress of each call, lists, and many calls at once', async (t) => {
  const client = new Client(
    { name: 'newer', version: '1' },
    { versionNegotiation: { mode: { pin: MODERN } } },
  );
  await client.connect(new StreamableHTTPClientTransport(at('newer'), { requestInit }));
  t.true((await client.listTools()).tools.some(({ name }) => name === 'about'));
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      const steps: number[] = [];
      const onprogress = ({ progress }: { progress: number }) => void steps.push(progress);
      t.is(textOf(await client.callTool({ name: 'steps', arguments: {} }, { onprogress })), 'done');
      t.deepEqual(steps, [1, 2, 3]);
    }),
  );
  await client.close();
});

test.serial('a subscription hears of the program’s own changes, under its own id', async (t) => {
  const aborter = new AbortController();
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': MODERN,
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const params = { notifications: { toolsListChanged: true }, _meta };
  const answer = await fetch(at('newer'), {
    method: 'POST',
    signal: aborter.signal,
    headers: {
      ...requestInit.headers,
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': MODERN,
      'mcp-method': 'subscriptions/listen',
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 'mine', method: 'subscriptions/listen', params }),
  });
  let seen = '';
  const reading = (async () => {
    for await (const piece of answer.body ?? []) seen += Buffer.from(piece).toString();
  })().catch(() => {});
  await eventually('the subscription is there', () => seen.includes('acknowledged'));
  await modern(String(at('newer')), 'tools/call', { name: 'more', arguments: {} });
  await eventually('the change is told', () => seen.includes('notifications/tools/list_changed'));
  const ids = [...seen.matchAll(/"io\.modelcontextprotocol\/subscriptionId":("[^"]*"|\d+)/g)].map(
    ([, id]) => id,
  );
  t.true(ids.length >= 2);
  t.true(
    ids.every((id) => id === '"mine"'),
    seen,
  );
  aborter.abort();
  await reading;
});

test.serial('the control plane reads such a program', async (t) => {
  for (const name of NAMES) {
    const synced = await ok(gateway, 'POST', `/mcp-integrations/program-${name}/sync`, { body: {} });
    t.true(synced.success, JSON.stringify(synced));
    const told = await ok(gateway, 'GET', `/mcp-integrations/program-${name}/metadata`);
    t.is(told.protocol_version, MODERN);
  }
});

test.serial('a program that ends is started again for the next call', async (t) => {
  for (const slug of NAMES) {
    const { pid } = await about(slug);
    process.kill(pid, 'SIGKILL');
    let next = 0;
    await eventually('another one answers', async () => {
      next = (await about(slug).catch(() => ({ pid }))).pid;
      return next !== pid;
    });
    t.is((await about(slug)).pid, next);
  }
});
