// Elicitation in the mode `url` across generations: the id of 2025-11-25 comes and goes, and its error becomes a question.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import { fromJsonSchema, inputRequired, McpServer } from '@modelcontextprotocol/server';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Program, startEverything } from '../support/mcp/programs.ts';
import { startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN } from '../support/mcp/wire.ts';

const LINK = 'https://example.com/open';
let older: Program;
let newer: Upstream;
let gateway: TestGateway;
test.before(async () => {
  [older, newer] = await Promise.all([startEverything(), startModernUpstream(asking)]);
  gateway = await startMcpGateway({ older: { url: older.url }, newer: { url: newer.url } });
});
test.after.always(async () => {
  await gateway?.close();
  await older?.close();
  await newer?.close();
});

/** A server of 2026-07-28 whose tool asks the user to open a link. */
function asking(): McpServer {
  const server = new McpServer({ name: 'asking', version: '1' }, { capabilities: { tools: {} } });
  const inputSchema = fromJsonSchema({ type: 'object', properties: {} });
  server.registerTool('ask', { description: 'asks', inputSchema }, ((_args: unknown, ctx: Context) => {
    const answer = ctx.mcpReq.inputResponses?.open;
    if (answer !== undefined) return { content: [{ type: 'text', text: `action=${answer.action}` }] };
    const open = inputRequired.elicitUrl({ url: LINK, message: 'Open it' });
    return inputRequired({ inputRequests: { open } });
  }) as never);
  return server;
}
interface Context {
  readonly mcpReq: { readonly inputResponses?: Record<string, { readonly action: string }> };
}

const auth = { requestInit: { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } } };
const at = (slug: string) => new URL(`${gateway.origin}/${slug}/mcp`);
const TOOL = 'trigger-url-elicitation';

/** Opens links, and remembers what it was asked. */
async function opening(asked: Record<string, unknown>[], action: 'accept' | 'decline' = 'accept') {
  const client = new Client(
    { name: 'newer', version: '1' },
    { capabilities: { elicitation: { url: {} } }, versionNegotiation: { mode: { pin: MODERN } } },
  );
  client.setRequestHandler('elicitation/create', ({ params }) => {
    asked.push(params as Record<string, unknown>);
    return { action };
  });
  await client.connect(new StreamableHTTPClientTransport(at('older'), auth));
  return client;
}

test('a newer client opens what an older server asks for, in its request and by its error', async (t) => {
  for (const errorPath of [false, true]) {
    const asked: Record<string, unknown>[] = [];
    const client = await opening(asked);
    const args = { url: `${LINK}?${errorPath}`, message: 'Open it', errorPath };
    const result = await client.callTool({ name: TOOL, arguments: args });
    t.regex(JSON.stringify(result.content), /accept|opened|complet/i);
    t.true(asked.every(({ mode }) => mode === 'url'));
    t.true(asked.every((one) => !('elicitationId' in one)));
    t.deepEqual(
      asked.map(({ url }) => url),
      errorPath ? ['https://modelcontextprotocol.io', args.url] : [args.url],
    );
    await client.close();
  }
});

test('a newer client that declines what an error asked for has an error, and no second call', async (t) => {
  const asked: Record<string, unknown>[] = [];
  const client = await opening(asked, 'decline');
  const args = { url: `${LINK}?declined`, message: 'Open it', errorPath: true };
  const error = await t.throwsAsync(client.callTool({ name: TOOL, arguments: args }));
  t.regex(String(error?.message), /has not opened/);
  t.is(asked.length, 1);
  await client.close();
});

test('an older client opens what a newer server asks for, with an id of its own', async (t) => {
  const client = new OlderClient(
    { name: 'older', version: '1' },
    { capabilities: { elicitation: { url: {} } } },
  );
  const asked: { mode?: string; url?: string; elicitationId?: string }[] = [];
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => {
    asked.push(params as (typeof asked)[number]);
    return { action: 'accept' };
  });
  await client.connect(new OlderTransport(at('newer'), auth) as never);
  const result = await client.callTool({ name: 'ask', arguments: {} });
  t.regex(JSON.stringify(result.content), /action=accept/);
  t.like(asked[0], { mode: 'url', url: LINK });
  t.regex(asked[0]?.elicitationId ?? '', /^[0-9a-f-]{36}$/);
  await client.close();
});
