// Answers that never end although they are never silent: the call ends within the bound of silence, at servers of both
// generations and at REST APIs. And arguments of REST tools that climb when a server decodes them again.
import test from 'ava';
import { restRequest } from '../../src/mcp/rest/rest-request.ts';
import { ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern, post } from '../support/mcp/wire.ts';

let upstream: Upstream;
let gateway: TestGateway;
test.before(async () => {
  upstream = await startUpstream((_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    const timer = setInterval(() => res.write(' '), 50);
    res.once('close', () => clearInterval(timer));
  });
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1', GATEWAY_MCP_SILENCE_SECONDS: '1' });
  for (const transport of ['http', 'openapi']) {
    const body = { name: transport, slug: transport, url: upstream.url, auth_type: 'none', transport };
    await ok(gateway, 'POST', '/mcp-integrations', { body: { ...body, workspace_id: 'default' } });
    const server = { name: transport, slug: transport, mcp_integration_id: transport };
    await ok(gateway, 'POST', '/mcp-servers', { body: { ...server, workspace_id: 'default' } });
  }
  const responses = { 200: { description: 'ok' } };
  const paths = { '/x': { get: { operationId: 'drips', responses } } };
  await ok(gateway, 'PUT', '/mcp-integrations/openapi/openapi', {
    body: {
      document: { openapi: '3.1.0', info: { title: 'T', version: '1' }, paths },
      operations: ['drips'],
    },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

test('a body of blanks is silence', async (t) => {
  const hello = JSON.stringify({
    jsonrpc: '2.0',
    id: 1,
    method: 'initialize',
    params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
  });
  const call = { name: 'drips', arguments: {} };
  const answers = await Promise.all([
    post(`${gateway.origin}/http/mcp`, hello),
    modern(`${gateway.origin}/http/mcp`, 'tools/call', call),
    modern(`${gateway.origin}/openapi/mcp`, 'tools/call', call),
  ]);
  for (const { json, text } of answers)
    t.regex(json.error?.message ?? text, /blanks|in time|cannot be reached/);
});

test('no way of decoding leads a path’s value upwards', (t) => {
  const argument = { argument: 'id', place: 'path', name: 'id', required: true, explode: false } as const;
  const tool = { name: 'get', method: 'GET', path: '/a/{id}/b', arguments: [argument] };
  const pathOf = (id: string) => restRequest('https://api.example.com/v1', tool, { id }).path;
  for (const id of [
    ...['..', '.', '../x', 'x/..', '..%2f..', '..%2Fx', '%2e%2e', '%252e%252e', '%25252e%252e/x', '..%255cx'],
    ...['..;a=b/x', '..;', 'x%2f..;y', '.%2e', 'a\\..\\b', '%5c..%5cx'],
  ])
    t.throws(() => pathOf(id), { message: /arguments.id/ }, id);
  t.is(pathOf('a/b'), '/v1/a/a%2Fb/b');
  t.is(pathOf('100%'), '/v1/a/100%25/b');
  t.is(pathOf('...'), '/v1/a/.../b');
  t.is(pathOf('a;b?c#d'), '/v1/a/a%3Bb%3Fc%23d/b');
  t.is(pathOf('%e0%a4'), '/v1/a/%25e0%25a4/b');
});
