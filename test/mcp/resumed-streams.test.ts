// A stream that a client resumes brings answers of requests that are over: what is hidden is not in them, and results that
// guardrails check are told within their calls alone. Headers that route requests come from clients that have them.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { post } from '../support/mcp/wire.ts';

const rpc = (result: object) => JSON.stringify({ jsonrpc: '2.0', id: 1, result });
const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
});
let replayed: object = {};
let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startUpstream((req, res, body) => {
    if (req.method === 'GET') {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      res.end(`id: e2\ndata: ${rpc(replayed)}\n\n`);
      return;
    }
    const { method } = JSON.parse(body) as { method: string };
    res.setHeader('content-type', 'application/json');
    res.setHeader('mcp-session-id', 'upstream-1');
    const info = { capabilities: { tools: {} }, serverInfo: { name: 'x', version: '1' } };
    res.end(rpc(method === 'initialize' ? { protocolVersion: '2025-11-25', ...info } : { tools: [] }));
  });
  const off = { type: 'tool', name: 'secret', enabled: false, updatedAt: 1 } as const;
  gateway = await startMcpGateway({
    tools: { url: upstream.url, server: { switches: [off] } },
    guarded: { url: upstream.url },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const session = async (slug: string): Promise<Record<string, string>> => {
  const { headers } = await post(`${gateway.origin}/${slug}/mcp`, hello);
  return { 'mcp-session-id': headers.get('mcp-session-id')!, 'mcp-protocol-version': '2025-11-25' };
};
const resumed = async (slug: string): Promise<string> => {
  const stop = new AbortController();
  const answer = await fetch(`${gateway.origin}/${slug}/mcp`, {
    headers: {
      ...{ authorization: 'Bearer slk_test_workspace_key_0123456789ab', accept: 'text/event-stream' },
      ...{ ...(await session(slug)), 'last-event-id': 'e1' },
    },
    signal: stop.signal,
  });
  let text = '';
  for await (const piece of answer.body!.pipeThrough(new TextDecoderStream())) {
    text += piece;
    if (text.includes('\n\n') && text.includes('data:')) break;
  }
  stop.abort();
  return text;
};

test.serial('a list that is replayed is filtered', async (t) => {
  replayed = { tools: [{ name: 'open' }, { name: 'secret' }] };
  const text = await resumed('tools');
  t.regex(text, /"open"/);
  t.notRegex(text, /secret/);
});

test.serial('a result that guardrails check is not replayed', async (t) => {
  replayed = { content: [{ type: 'text', text: 'a word' }] };
  t.regex(await resumed('guarded'), /a word/);
  const checks = [{ id: 'default.contains', parameters: { words: ['word'], operator: 'none' } }];
  const { id } = await ok(gateway, 'POST', '/guardrails', {
    body: { name: 'no words', checks, actions: { deny: true } },
  });
  await ok(gateway, 'PUT', '/mcp-servers/guarded', {
    body: { configurations: { guardrails: { tools: { any: { output: [id as string] } } } } },
  });
  const text = await resumed('guarded');
  t.notRegex(text, /a word/);
  t.regex(text, /call the tool again/);
});

test.serial('an older client’s headers name no tool to the server', async (t) => {
  const headers = {
    ...(await session('tools')),
    'mcp-method': 'tools/call',
    'mcp-name': 'secret',
    'mcp-param-x': '1',
  };
  upstream.seen.length = 0;
  const list = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
  t.is((await post(`${gateway.origin}/tools/mcp`, list, headers)).status, 200);
  const seen = Object.keys(upstream.seen[0]?.headers ?? {});
  t.deepEqual(
    seen.filter((name) => /^mcp-(?:method|name|param)/.test(name)),
    [],
  );
});
