// `sluice mcp` as desktop clients start it: the real command on standard input and output, at servers of both generations.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Client } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js';
import test from 'ava';
import { type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { startLegacyUpstream, startModernUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { MODERN } from '../support/mcp/wire.ts';
import { PROGRAM } from '../support/program.ts';

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

const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;
const env = () => ({ PATH: process.env.PATH ?? '', SLUICE_URL: gateway.origin, SLUICE_KEY: WORKSPACE_KEY });
const program = (...args: string[]) => ({
  command: process.execPath,
  args: [PROGRAM, 'mcp', ...args],
  env: env(),
  stderr: 'pipe' as const,
});

async function olderClient(...args: string[]): Promise<OlderClient> {
  const client = new OlderClient({ name: 'older', version: '1' }, { capabilities: { elicitation: {} } });
  client.setRequestHandler(ElicitRequestSchema, () => ({
    action: 'accept' as const,
    content: { username: 'ada', email: 'a@b.c' },
  }));
  await client.connect(new OlderTransport(program(...args)) as never);
  return client;
}

for (const [slug, prefix] of [
  ['older', ''],
  ['newer', ''],
  [undefined, 'older__'],
] as const)
  test.serial(`SDK v1 at ${slug ?? 'all servers'}: tools, a question to the user, progress`, async (t) => {
    const client = await olderClient(...(slug === undefined ? [] : [slug]));
    const names = (await client.listTools()).tools.map(({ name }) => name);
    t.true(names.includes(`${prefix}test_simple_text`));
    const asked = await client.callTool({
      name: `${prefix}test_elicitation`,
      arguments: { message: 'who?' },
    });
    t.regex(textOf(asked), /action=accept.*ada/);
    const steps: number[] = [];
    const call = { name: `${prefix}test_tool_with_progress`, arguments: {} };
    await client.callTool(call, undefined, { onprogress: ({ progress }) => steps.push(progress) });
    t.deepEqual(steps, [0, 50, 100]);
    await client.close();
  });

for (const slug of ['older', 'newer'])
  test.serial(`SDK v2 in the newer revision at the ${slug} server`, async (t) => {
    const client = new Client(
      { name: 'newer', version: '1' },
      { versionNegotiation: { mode: { pin: MODERN } } },
    );
    await client.connect(new StdioClientTransport(program(slug)));
    t.is(client.getNegotiatedProtocolVersion(), MODERN);
    t.true((await client.listTools()).tools.some(({ name }) => name === 'test_simple_text'));
    const { content } = await client.callTool({ name: 'test_simple_text', arguments: {} });
    t.deepEqual(content, [{ type: 'text', text: 'This is a simple text response for testing.' }]);
    const region = { name: 'test_custom_headers', arguments: { region: 'eu' } };
    if (slug === 'newer') t.falsy((await client.callTool(region)).isError);
    await client.close();
  });

test.serial('a server that has forgotten the session: the client does not notice', async (t) => {
  const client = await olderClient('older');
  t.truthy((await client.listTools()).tools.length);
  older.forget();
  t.regex(textOf(await client.callTool({ name: 'test_simple_text', arguments: {} })), /simple text/);
  await client.close();
});

/** The command with this input and then its end. */
async function run(args: readonly string[], input: string, more: Record<string, string> = {}) {
  const child = spawn(process.execPath, [PROGRAM, 'mcp', ...args], { env: { ...env(), ...more } });
  let [out, err] = ['', ''];
  child.stdout.on('data', (piece: Buffer) => (out += piece.toString()));
  child.stderr.on('data', (piece: Buffer) => (err += piece.toString()));
  const closed = once(child, 'close') as Promise<[number | null]>;
  child.stdin.on('error', () => {});
  child.stdin.end(input);
  const [code] = await closed;
  return {
    code,
    out,
    err,
    messages: out
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Said),
  };
}
interface Said {
  readonly id: unknown;
  readonly result?: { readonly tools?: unknown[] };
  readonly error?: { readonly code: number; readonly message: string };
}

const line = (message: object) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`;
const META = {
  'io.modelcontextprotocol/protocolVersion': MODERN,
  'io.modelcontextprotocol/clientCapabilities': {},
};
const list = (id: unknown) => line({ id, method: 'tools/list', params: { _meta: META } });

test.serial(
  'lines that are no messages are answered; requests before the end are, too; it exits with 0',
  async (t) => {
    const { code, out, messages } = await run(['newer'], `{\n\n[]\n"x"\n${list(7)}${list('last').trimEnd()}`);
    t.is(code, 0);
    t.deepEqual(
      messages.filter(({ error }) => error).map(({ error }) => error?.code),
      [-32700, -32600, -32600],
    );
    for (const id of [7, 'last']) t.truthy(messages.find((one) => one.id === id)?.result?.tools);
    t.notRegex(out, /^[^{]/m);
  },
);

test.serial('what is written before the handshake is answered belongs to its session', async (t) => {
  for (const slug of ['older', 'newer']) {
    const params = {
      protocolVersion: '2025-06-18',
      capabilities: {},
      clientInfo: { name: 'x', version: '1' },
    };
    const { code, err, messages } = await run(
      [slug],
      line({ id: 1, method: 'initialize', params }) +
        line({ method: 'notifications/initialized' }) +
        line({ id: 2, method: 'tools/call', params: { name: 'test_simple_text', arguments: {} } }),
    );
    t.is(code, 0);
    t.is(err, '', 'no message was refused');
    t.deepEqual(
      messages.map(({ id }) => id),
      [1, 2],
    );
    t.regex(JSON.stringify(messages[1]), /simple text response/);
  }
});

test.serial(
  'a key that is none, and a server that is none: told under the request’s id; people read stderr',
  async (t) => {
    const wrong = await run(['newer'], list(1), { SLUICE_KEY: 'slk_none' });
    t.is(wrong.code, 0);
    t.is(wrong.messages[0]?.id, 1);
    t.truthy(wrong.messages[0]?.error);
    t.regex(wrong.err, /key/);
    t.notRegex(wrong.err + wrong.out, /slk_none/);
    const none = await run(['nothing-there'], list(2));
    t.is(none.messages[0]?.id, 2);
    t.truthy(none.messages[0]?.error);
    const away = await run(['newer', '--url', 'http://127.0.0.1:1'], list(3));
    t.is(away.messages[0]?.id, 3);
    t.is(away.messages[0]?.error?.code, -32603);
  },
);

test.serial('without an address or a key it says what is needed, and exits with 1', async (t) => {
  for (const [more, word] of [
    [{ SLUICE_URL: '' }, '--url'],
    [{ SLUICE_URL: 'ftp://x' }, '--url'],
    [{ SLUICE_KEY: '' }, '--key'],
  ] as const) {
    const { code, out, err } = await run([], '', more as Record<string, string>);
    t.is(code, 1);
    t.is(out, '');
    t.true(err.includes(word), err);
  }
  t.is((await run(['../admin'], '')).code, 1);
});

test.serial('SIGTERM ends it at once, with 0', async (t) => {
  const child = spawn(process.execPath, [PROGRAM, 'mcp', 'older'], { env: env() });
  const said = Promise.race([once(child.stdout, 'data'), once(child, 'exit')]);
  child.stdin.write(
    line({
      id: 1,
      method: 'initialize',
      params: {
        protocolVersion: '2025-11-25',
        capabilities: {},
        clientInfo: { name: 'x', version: '1' },
      },
    }),
  );
  await said;
  child.stdin.write(line({ method: 'notifications/initialized' }));
  const closed = once(child, 'close') as Promise<[number | null]>;
  child.kill('SIGTERM');
  t.is((await closed)[0], 0);
});
