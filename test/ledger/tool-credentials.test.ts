// Credentials for tool servers are in no log: on chat and on raw paths, in bodies, errors, exports and the process log.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const SECRETS = ['mcp-token-secret-1', 'mcp-header-secret-2', 'mcp-nested-secret-3'];
const tools = [
  {
    type: 'mcp',
    server_label: 'x',
    server_url: 'https://mcp.example.com',
    authorization: `Bearer ${SECRETS[0]}`,
    headers: { 'X-Api-Key': SECRETS[1] },
    server: { headers: { Authorization: SECRETS[2] } },
  },
];
let gateway: TestGateway;
let provider: FakeProvider;

test.before(async () => {
  gateway = await startGateway({ LOG_LEVEL: 'trace' });
  provider = await startFakeProvider();
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

async function post(path: string, body: object): Promise<{ id: string; status: number; text: string }> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'x-gateway-custom-host': `${provider.origin}/v1`,
      authorization: 'Bearer sk-provider-0123456789',
    },
    body: JSON.stringify(body),
  });
  return {
    id: answer.headers.get('x-gateway-request-id') ?? '',
    status: answer.status,
    text: await answer.text(),
  };
}

const read = async (path: string) =>
  (await fetch(`${gateway.origin}/v1${path}`, { headers: { 'x-gateway-api-key': ADMIN_KEY } })).text();

/** The entry with its bodies, once they are there. */
async function detail(id: string): Promise<string> {
  for (;;) {
    const text = await read(`/logs/${id}`);
    if (text.includes('mcp.example.com')) return text;
    await new Promise((done) => setImmediate(done));
  }
}

for (const [path, body] of [
  ['/chat/completions', { model: 'm', messages: [{ role: 'user', content: 'Hi' }], tools }],
  ['/responses', { model: 'm', input: 'Hi', tools }],
] as const)
  for (const fails of [false, true])
    test.serial(`${path}${fails ? ', when the provider repeats them in an error' : ''}`, async (t) => {
      const before = provider.seen.length;
      if (fails)
        provider.next(`/v1${path}`, (_, res) => {
          res.writeHead(400, { 'content-type': 'application/json' });
          res.end(JSON.stringify({ error: { message: `bad tool ${SECRETS.join(' ')}`, type: 'x' } }));
        });
      const { id, status } = await post(path, body);
      if (fails) t.is(status, 400);
      t.true(
        provider.seen.slice(before).some(({ body: sent }) => sent.includes(SECRETS[0]!)),
        'the provider has them',
      );
      const shown = await detail(id);
      const list = await read('/logs?page_size=100');
      for (const secret of SECRETS) {
        t.false(shown.includes(secret), secret);
        t.false(list.includes(secret), secret);
        t.false(gateway.logLines.join('\n').includes(secret), secret);
      }
    });
