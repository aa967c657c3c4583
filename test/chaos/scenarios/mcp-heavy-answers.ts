// An MCP server whose answers are cheap to send and expensive to read, in each pairing of generations.
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { ADMIN_KEY, WORKSPACE_KEY } from '../../support/gateway.ts';
import { atMost, type ChaosLab, isTrue, type Scenario } from '../scenario.ts';

type Json = Record<string, unknown>;
type Revision = '2025-11-25' | '2026-07-28';

const names = (count: number): string => Array.from({ length: count }, (_, i) => `"k${i}":1`).join();
const tools = (count: number): string =>
  Array.from({ length: count }, (_, i) => `{"name":"t${i}","inputSchema":{"type":"object"}}`).join();
/** What stands in a result. */
const LOADS: Readonly<Record<string, string>> = {
  'a million empty objects': `"x":[${'{},'.repeat(1_000_000)}{}]`,
  '300,000 names': `"x":{${names(300_000)}}`,
  'a million nests': `"x":${'['.repeat(1_000_000)}`,
  '30,000 nests that end': `"x":${'['.repeat(30_000)}${']'.repeat(30_000)}`,
  '15,000 names': `"x":{${names(15_000)}}`,
  '8 MB of a text': `"x":${JSON.stringify('x'.repeat(8_000_000))}`,
  'a name twice, 100,000 times': `"x":{${'"a":1,'.repeat(100_000)}"a":1}`,
  '10,001 tools': `"tools":[${tools(10_001)}]`,
  '10,000 tools, as many as pass': `"tools":[${tools(10_000)}]`,
};
const META = 'io.modelcontextprotocol/';
const HELLO = { protocolVersion: '2025-11-25', capabilities: {}, serverInfo: { name: 'x', version: '1' } };

const scenario: Scenario = {
  name: 'mcp-heavy-answers',
  attack:
    'an MCP server answers calls and lists with a million empty objects, 300,000 names, a million nests or 10,000 tools, whole and as an event',
  bound: 'no turn over 50 ms in any pairing of generations; calls end with an answer or an error',
  test: 'test/mcp/bad-upstreams.test.ts',
  async run(lab) {
    let load = '';
    let isEvent = false;
    const older = await serve(lab, '2025-11-25', () => ({ load, isEvent }));
    const newer = await serve(lab, '2026-07-28', () => ({ load, isEvent }));
    const gateway = await lab.startGateway();
    for (const [slug, url] of [
      ['older', older],
      ['newer', newer],
    ] as const)
      await addServer(gateway.origin, slug, url);
    const verdicts = [];
    for (const slug of ['older', 'newer'])
      for (const revision of ['2025-11-25', '2026-07-28'] as const) {
        const ask = await client(gateway.origin, slug, revision);
        const both = async (text: string): Promise<boolean> => {
          let ended = true;
          for (isEvent of [false, true])
            for (const method of ['tools/call', 'tools/list']) {
              load = text;
              ended = (await ask(method)) && ended;
            }
          return ended;
        };
        // What is read and compiled once is not counted.
        for (let i = 0; i < 3; i++) await both('"tools":[],"content":[]');
        await gateway.longestTurnMs();
        let ended = true;
        for (const text of Object.values(LOADS)) ended = (await both(text)) && ended;
        const pairing = `a client of ${revision} at the ${slug} server`;
        verdicts.push(atMost(`longest turn, ${pairing}`, await gateway.longestTurnMs(), 50, 'ms'));
        verdicts.push(isTrue(`each call is answered, ${pairing}`, ended));
      }
    return [...verdicts, isTrue('a caller is answered', await gateway.healthy())];
  },
};
export default scenario;

interface Given {
  readonly load: string;
  readonly isEvent: boolean;
}

async function serve(lab: ChaosLab, revision: Revision, given: () => Given): Promise<string> {
  const isNewer = revision === '2026-07-28';
  const server = http.createServer((req, res) => {
    const pieces: Buffer[] = [];
    req.on('data', (piece: Buffer) => pieces.push(piece));
    req.on('end', () => {
      if (req.method !== 'POST') return res.writeHead(405).end();
      const { id, method } = JSON.parse(Buffer.concat(pieces).toString()) as { id?: unknown; method: string };
      if (method === (isNewer ? 'initialize' : 'server/discover')) return res.writeHead(400).end();
      if (id === undefined) return res.writeHead(202).end();
      const found = { resultType: 'complete', supportedVersions: [revision], capabilities: {} };
      const own = JSON.stringify(isNewer ? found : HELLO).slice(1, -1);
      const isHello = method === 'initialize' || method === 'server/discover';
      const { load, isEvent } = given();
      const members = isHello ? own : `${isNewer ? '"resultType":"complete",' : ''}${load}`;
      const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{${members}}}`;
      const type = isEvent && !isHello ? 'text/event-stream' : 'application/json';
      return res
        .writeHead(200, { 'content-type': type })
        .end(type === 'text/event-stream' ? `data: ${text}\n\n` : text);
    });
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  lab.onEnd(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
}

async function addServer(origin: string, slug: string, url: string): Promise<void> {
  const call = async (path: string, body: Json): Promise<void> => {
    const answer = await fetch(`${origin}/v1${path}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ name: slug, slug, workspace_id: 'default', ...body }),
    });
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  };
  await call('/mcp-integrations', { url, transport: 'http', auth_type: 'none' });
  await call('/mcp-servers', { mcp_integration_id: slug });
}

/** Asks as one client. @returns whether there was an answer of the protocol */
async function client(
  origin: string,
  slug: string,
  revision: Revision,
): Promise<(method: string) => Promise<boolean>> {
  const isNewer = revision === '2026-07-28';
  const post = (body: Json, headers: Readonly<Record<string, string>>): Promise<Response> =>
    fetch(`${origin}/${slug}/mcp`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': revision,
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, ...body }),
    });
  const _meta = { [`${META}protocolVersion`]: revision, [`${META}clientCapabilities`]: {} };
  const own: Record<string, string> = {};
  if (!isNewer) {
    const params = { protocolVersion: revision, capabilities: {}, clientInfo: { name: 'x', version: '1' } };
    const hello = await post({ method: 'initialize', params }, {});
    await hello.arrayBuffer();
    const session = hello.headers.get('mcp-session-id');
    if (session !== null) own['mcp-session-id'] = session;
  }
  return async (method) => {
    const params = method === 'tools/call' ? { name: 'any', arguments: {} } : {};
    const headers: Record<string, string> = isNewer
      ? { 'mcp-method': method, ...(method === 'tools/call' ? { 'mcp-name': 'any' } : {}) }
      : own;
    const answer = await post({ method, params: isNewer ? { ...params, _meta } : params }, headers);
    return /"(?:result|error)":/.test(await answer.text());
  };
}
