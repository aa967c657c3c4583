// Guardrails read every text of a result, wherever a server puts it: structured content under any name, embedded resources,
// errors. Bytes are none, and what a client only brings back stays as it is.
import test from 'ava';
import { ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern } from '../support/mcp/wire.ts';

let said: object = {};
let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startUpstream((_req, res, body) => {
    const { id, method } = JSON.parse(body) as { id: number; method: string };
    const discovered = { supportedVersions: ['2026-07-28'], capabilities: { tools: {} } };
    const answer =
      method === 'server/discover' ? { result: { resultType: 'complete', ...discovered } } : said;
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }));
  });
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  const checks = [{ id: 'default.contains', parameters: { words: ['plutonium'], operator: 'none' } }];
  const { slug } = await ok(gateway, 'POST', '/guardrails', {
    body: { name: 'No plutonium', workspace_id: 'default', checks, actions: { deny: true } },
  });
  const guardrails = { tools: { any: { output: [slug as string], input: [slug as string] } } };
  const body = { name: 'x', slug: 'guarded', url: upstream.url, auth_type: 'none', transport: 'http' };
  await ok(gateway, 'POST', '/mcp-integrations', { body: { ...body, workspace_id: 'default' } });
  await ok(gateway, 'POST', '/mcp-servers', {
    body: {
      name: 'x',
      slug: 'guarded',
      mcp_integration_id: 'guarded',
      workspace_id: 'default',
      configurations: { guardrails },
    },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const call = (args: object = {}) =>
  modern(`${gateway.origin}/guarded/mcp`, 'tools/call', { name: 'any', arguments: args });
const WORD = 'some plutonium here';

test.serial('no place of a result goes unread', async (t) => {
  const result = (members: object) => ({ result: { resultType: 'complete', content: [], ...members } });
  for (const answer of [
    result({ content: [{ type: 'text', text: WORD }] }),
    result({ structuredContent: { data: WORD } }),
    result({ structuredContent: { rows: [{ type: WORD }, { mimeType: WORD }, { blob: WORD }] } }),
    result({ content: [{ type: 'text', text: 'x', data: WORD }] }),
    result({ content: [{ type: 'resource', resource: { uri: 'a:b', text: WORD } }] }),
    result({ content: [{ type: 'resource', resource: { uri: 'a:b', data: WORD } }] }),
    result({ content: [{ type: 'resource_link', uri: 'a:b', name: 'x', description: WORD }] }),
    result({ isError: true, content: [{ type: 'text', text: WORD }] }),
    { error: { code: -32000, message: WORD } },
    { error: { code: -32000, message: 'x', data: { detail: WORD } } },
  ]) {
    said = answer;
    const { status, text, json } = await call();
    t.is(status, 446, text);
    t.is(json.result, undefined);
  }
});

test.serial('bytes, and what is only brought back, are no text', async (t) => {
  const data = Buffer.from(WORD).toString('base64');
  said = {
    result: { resultType: 'complete', content: [{ type: 'image', data, mimeType: 'image/plutonium' }] },
  };
  t.is((await call()).status, 200);
  said = { error: { code: -32000, message: 'nothing of the kind' } };
  t.is((await call()).json.error?.message, 'nothing of the kind');
});

test.serial('arguments that are refused reach no server', async (t) => {
  const before = upstream.seen.length;
  for (const args of [{ a: WORD }, { data: WORD }, { deep: [{ type: [WORD] }] }])
    t.is((await call(args)).status, 446);
  t.is(upstream.seen.length, before);
});
