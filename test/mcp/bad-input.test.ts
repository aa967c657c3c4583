// What callers and upstreams do wrong: an error of the protocol, nothing leaks, the process lives.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type Behaviour, events, GARBAGE, GOOD as good, json, raw } from '../support/mcp/garbage.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { freePort } from '../support/mcp/programs.ts';
import { startUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { modern, post } from '../support/mcp/wire.ts';

let upstream: Upstream;
let gateway: TestGateway;
let behave: Behaviour;
test.before(async () => {
  upstream = await startUpstream((_req, res, body) => {
    const { id, method } = JSON.parse(body || '{}') as { id: number; method: string };
    if (method === 'server/discover')
      return json({
        jsonrpc: '2.0',
        id,
        result: { resultType: 'complete', supportedVersions: ['2026-07-28'], capabilities: { tools: {} } },
      })(res, id, method);
    return behave(res, id, method);
  });
  const dead = `http://127.0.0.1:${await freePort()}/mcp`;
  gateway = await startMcpGateway(
    { odd: { url: upstream.url }, away: { url: dead }, inside: { url: 'http://169.254.169.254/mcp' } },
    { GATEWAY_MCP_SILENCE_SECONDS: '1', GATEWAY_BODY_LIMIT: '1MiB' },
  );
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

const url = () => `${gateway.origin}/odd/mcp`;
const call = () => modern(url(), 'tools/call', { name: 'any', arguments: {} });

for (const [name, behaviour] of Object.entries(GARBAGE)) {
  test.serial(`an upstream that answers a tool call with ${name}`, async (t) => {
    behave = behaviour;
    const answer = await call();
    t.is(answer.json.id, 1);
    t.is(answer.json.error?.code, -32603, answer.text);
    t.true([200, 502, 504].includes(answer.status), String(answer.status));
    t.notRegex(answer.text, /stack trace|169\.254|theirs|127\.0\.0\.1/);
    t.is(answer.headers.get('www-authenticate'), null);
    behave = json(JSON.parse(good));
    t.is((await call()).status, 200);
  });
}

test.serial('a second response is not passed on', async (t) => {
  behave = events(good, good.replace('"content":[]', '"content":["second"]'));
  const { text } = await call();
  t.false(text.includes('second'));
});

test.serial('schemas that nest too deep, from servers and from clients', async (t) => {
  const deep = `${'{"a":'.repeat(5000)}1${'}'.repeat(5000)}`;
  const list = `{"tools":[{"name":"a","inputSchema":${deep}}],"ttlMs":0,"resultType":"complete"}`;
  behave = raw(`{"jsonrpc":"2.0","id":1,"result":${list}}`);
  const answer = await modern(url(), 'tools/list');
  t.is(answer.status, 502);
  t.is(answer.json.error?.code, -32603);
  const sent = await post(
    url(),
    `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"any","arguments":${deep}}}`,
  );
  t.is(sent.status, 400);
  t.is(sent.json.error?.code, -32600);
});

test.serial(
  'a server that sends comments for ever when it is asked what it is; callers who leave harm no others',
  async (t) => {
    const talks = await startUpstream((_req, res) => {
      res.writeHead(200, { 'content-type': 'text/event-stream' });
      const more = setInterval(() => res.write(': still here\n\n'), 100);
      res.on('close', () => clearInterval(more));
    });
    const own = await startMcpGateway({ talks: { url: talks.url } }, { GATEWAY_MCP_SILENCE_SECONDS: '1' });
    try {
      const address = `${own.origin}/talks/mcp`;
      const aborter = new AbortController();
      const _meta = {
        'io.modelcontextprotocol/protocolVersion': '2026-07-28',
        'io.modelcontextprotocol/clientCapabilities': {},
      };
      const left = fetch(address, {
        method: 'POST',
        body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta } }),
        headers: {
          authorization: `Bearer ${WORKSPACE_KEY}`,
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': '2026-07-28',
          'mcp-method': 'tools/list',
        },
        signal: aborter.signal,
      }).catch(() => 'left');
      await eventually('the server is asked', () => talks.seen.length > 0);
      const waits = modern(address, 'tools/list');
      aborter.abort();
      t.is(await left, 'left');
      const answer = await waits;
      t.is(answer.json.error?.code, -32603, answer.text);
      t.is(answer.status, 504);
    } finally {
      await own.close();
      await talks.close();
    }
  },
);

test.serial('lists of too many items, and lists that are none', async (t) => {
  for (const tools of ['x', Array.from({ length: 10_001 }, (_, i) => ({ name: `t${i}` }))]) {
    behave = json({ jsonrpc: '2.0', id: 1, result: { resultType: 'complete', tools } });
    t.is((await modern(url(), 'tools/list')).json.error?.code, -32603);
  }
});

test.serial('an upstream that is away, and one that must not be called', async (t) => {
  const away = await modern(`${gateway.origin}/away/mcp`, 'tools/call', { name: 'any', arguments: {} });
  t.is(away.status, 502);
  t.is(away.json.error?.code, -32603);
  const inside = await modern(`${gateway.origin}/inside/mcp`, 'tools/call', { name: 'any', arguments: {} });
  t.is(inside.status, 400);
  t.like(inside.json.error?.data, { reason: 'host_refused' });
});

test.serial('messages that are none: a code of JSON-RPC, and nothing is sent on', async (t) => {
  const before = upstream.seen.length;
  const cases: [string, number, number][] = [
    ['{', 400, -32700],
    ['', 400, -32700],
    ['null', 400, -32600],
    ['"x"', 400, -32600],
    ['[]', 400, -32600],
    ['[{"jsonrpc":"2.0","id":1,"method":"tools/list"}]', 400, -32600],
    ['{"jsonrpc":"1.0","id":1,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":null,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":{},"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1.5,"method":"ping"}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":7}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}', 400, -32600],
    ['{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":""}}', 400, -32600],
    [`{"jsonrpc":"2.0","id":"${'x'.repeat(2000)}","method":"ping"}`, 400, -32600],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":""}}`, 400, -32602],
    [`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a","arguments":[]}}`, 400, -32602],
    // A call without an id would be one that nothing counts and logs.
    ['{"jsonrpc":"2.0","method":"tools/call","params":{"name":"a","arguments":{}}}', 400, -32600],
    ['{"jsonrpc":"2.0","method":"resources/read","params":{"uri":"a:b"}}', 400, -32600],
    // A server may take a list of one name for the name: switches would not see it.
    ['{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":["hidden"]}}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":["hidden"]}}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{"uri":["a:b"]}}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":{}}}', 400, -32602],
    ['{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":["x"]}}', 400, -32602],
    [
      '{"jsonrpc":"2.0","id":1,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":["x"]}}}',
      400,
      -32602,
    ],
  ];
  for (const [body, status, code] of cases) {
    const answer = await post(url(), body);
    t.is(answer.status, status, body.slice(0, 80));
    t.is(answer.json.error?.code, code, body.slice(0, 80));
  }
  t.is((await post(url(), '{}', { 'content-type': 'text/plain' })).status, 415);
  t.is((await post(url(), `"${'x'.repeat(2 * 1024 * 1024)}"`)).status, 413);
  t.is(upstream.seen.length, before);
});

test.serial('revisions: an unknown one is told with those that there are', async (t) => {
  const meta = {
    'io.modelcontextprotocol/protocolVersion': '2099-01-01',
    'io.modelcontextprotocol/clientCapabilities': {},
  };
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: { _meta: meta } });
  const answer = await post(url(), body, {
    'mcp-protocol-version': '2099-01-01',
    'mcp-method': 'tools/list',
  });
  t.is(answer.status, 400);
  t.like(answer.json.error, { code: -32022, data: { supported: ['2026-07-28'], requested: '2099-01-01' } });
});

test.serial('a member that stands twice, or in escapes, is one thing to all who read it', async (t) => {
  behave = json(JSON.parse(good));
  const twice =
    '{"jsonrpc":"2.0","id":1,"method":"tools/list","\\u006dethod":"tools/call","params":{"name":"a","\\u006eame":"b","arguments":{}}}';
  await post(url(), twice);
  const sent = upstream.seen.at(-1)!.body;
  t.is(sent, '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"b","arguments":{}}}');
});
