// A REST API as an MCP server: its OpenAPI document stored and validated, operations chosen one by one, and tools called
// by the official client.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import test from 'ava';
import { ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const DOCUMENT = {
  openapi: '3.0.3',
  info: { title: 'Pets', version: '2.0', description: 'Of a shop.' },
  paths: {
    '/pets/{petId}': {
      parameters: [{ name: 'petId', in: 'path', required: true, schema: { type: 'string' } }],
      get: {
        operationId: 'getPet',
        summary: 'One pet',
        parameters: [{ name: 'fields', in: 'query', schema: { type: 'array', items: { type: 'string' } } }],
        responses: { 200: { description: 'ok' } },
      },
    },
    '/pets': {
      post: {
        requestBody: {
          required: true,
          content: { 'application/json': { schema: { $ref: '#/components/schemas/Pet' } } },
        },
        responses: { 200: { description: 'ok' } },
      },
    },
  },
  components: {
    schemas: { Pet: { type: 'object', properties: { name: { type: 'string', nullable: true } } } },
  },
};

let gateway: TestGateway;
let api: http.Server;
let base: string;
const seen: {
  readonly url: string;
  readonly method: string;
  readonly key: unknown;
  readonly body: string;
}[] = [];
test.before(async () => {
  api = http.createServer((req, res) => {
    let body = '';
    req.on('data', (piece) => {
      body += piece;
    });
    req.on('end', () => {
      if (req.url === '/openapi.json') return void res.end(JSON.stringify(DOCUMENT));
      seen.push({ url: String(req.url), method: String(req.method), key: req.headers['x-key'], body });
      res.setHeader('content-type', 'application/json');
      if (req.url?.includes('gone')) res.statusCode = 404;
      res.end(JSON.stringify({ name: 'Rex' }));
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  base = `http://127.0.0.1:${(api.address() as AddressInfo).port}`;
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(async () => {
  await gateway?.close();
  api?.close();
  api?.closeAllConnections();
});

async function integrated(): Promise<string> {
  const body = {
    name: 'Pets',
    url: `${base}/v2`,
    transport: 'openapi',
    auth_type: 'headers',
    workspace_id: 'default',
    configurations: { custom_headers: { 'x-key': 'very-secret-0123456789' } },
  };
  return String((await ok(gateway, 'POST', '/mcp-integrations', { body })).id);
}

test.serial('chosen operations are tools, called with their arguments in their places', async (t) => {
  const id = await integrated();
  const stored = await ok(gateway, 'PUT', `/mcp-integrations/${id}/openapi`, {
    body: { source: `${base}/openapi.json`, operations: ['getPet', 'POST /pets'] },
  });
  t.deepEqual(stored, { success: true, tools: ['getPet', 'POST_pets'] });
  const shown = await ok(gateway, 'GET', `/mcp-integrations/${id}/openapi`);
  t.like(shown, { title: 'Pets', version: '2.0', source: `${base}/openapi.json` });
  t.is((shown.operations as unknown[]).length, 2);
  const server = { name: 'Pets', slug: 'pets', mcp_integration_id: id, workspace_id: 'default' };
  await ok(gateway, 'POST', '/mcp-servers', { body: server });
  for (const mode of ['auto', 'legacy'] as const) {
    const client = new Client({ name: 'test', version: '1' }, { versionNegotiation: { mode } });
    const headers = { authorization: `Bearer ${WORKSPACE_KEY}` };
    await client.connect(
      new StreamableHTTPClientTransport(new URL(`${gateway.origin}/pets/mcp`), { requestInit: { headers } }),
    );
    const { tools } = await client.listTools();
    t.deepEqual(
      tools.map(({ name }) => name),
      ['getPet', 'POST_pets'],
    );
    t.deepEqual(tools[1]?.inputSchema.$defs, {
      Pet: { type: 'object', properties: { name: { type: ['string', 'null'] } } },
    });
    seen.length = 0;
    const one = await client.callTool({ name: 'getPet', arguments: { petId: 'a/b', fields: ['x&y', 'z'] } });
    t.deepEqual(one.structuredContent, { name: 'Rex' });
    t.like(seen[0], {
      url: '/v2/pets/a%2Fb?fields=x%26y&fields=z',
      method: 'GET',
      key: 'very-secret-0123456789',
    });
    await client.callTool({ name: 'POST_pets', arguments: { body: { name: 'Rex' } } });
    t.like(seen[1], { url: '/v2/pets', method: 'POST', body: '{"name":"Rex"}' });
    const climbs = await client.callTool({ name: 'getPet', arguments: { petId: '../admin' } });
    t.true(climbs.isError);
    t.is(seen.length, 2, 'nothing was sent');
    t.true((await client.callTool({ name: 'getPet', arguments: { petId: 'gone' } })).isError);
    await client.close();
  }
});

test.serial('what is no document, and what cannot be encoded, is refused, naming the member', async (t) => {
  const id = await integrated();
  const refused = async (body: object, param: string) => {
    const answer = await send(gateway, 'PUT', `/mcp-integrations/${id}/openapi`, { body: body as never });
    t.is(answer.status, 400, JSON.stringify(answer.json));
    t.is((answer.json.error as { param?: string }).param, param);
  };
  const changed = (change: object) => ({ document: { ...DOCUMENT, ...change } });
  await refused({}, 'document');
  await refused(changed({ openapi: '2.0' }), 'document');
  await refused(changed({ info: {} }), 'document');
  await refused({ document: DOCUMENT, operations: ['nothing'] }, 'operations[0]');
  await refused({ source: 'http://10.0.0.1/openapi.json' }, 'source');
  await refused({ source: `${base}/v2/pets/gone` }, 'source');
  const outside = {
    '/x': { get: { operationId: 'x', parameters: [{ $ref: 'http://10.0.0.1/p' }], responses: {} } },
  };
  await refused({ ...changed({ paths: outside }), operations: ['x'] }, 'document');
  const header = { name: 'Cookie', in: 'header', schema: { type: 'string' } };
  const forged = { '/x': { get: { operationId: 'x', parameters: [header], responses: {} } } };
  await refused({ ...changed({ paths: forged }), operations: ['x'] }, 'operations[0]');
});
