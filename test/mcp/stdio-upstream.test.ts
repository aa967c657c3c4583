// MCP servers that are programs of the operator's settings: published ones, and some that misbehave.
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import test from 'ava';
import { readStdioCommands } from '../../src/lib/stdio-commands.ts';
import { eventually } from '../support/eventually.ts';
import { ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { MODERN, modern } from '../support/mcp/wire.ts';

const MODULES = new URL('../../node_modules/@modelcontextprotocol/', import.meta.url);
const script = (name: string) => fileURLToPath(new URL(`${name}/dist/index.js`, MODULES));
const folder = mkdtempSync(join(tmpdir(), 'sluice-stdio-'));
const pids = join(folder, 'pids');

/** A server in a few lines, which writes down its own id and that of a process that it starts. */
const SMALL = `
const { spawn } = require('node:child_process');
const { appendFileSync } = require('node:fs');
const child = spawn('sleep', ['600'], { stdio: 'ignore' });
appendFileSync(${JSON.stringify(pids)}, process.pid + ' ' + child.pid + '\\n');
console.log('a banner that is no message');
console.error('a line for people');
const say = (m) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', ...m }) + '\\n');
let rest = '';
process.stdin.on('data', (d) => {
  const lines = (rest + d).split('\\n');
  rest = lines.pop();
  for (const line of lines) {
    const { id, method, params } = JSON.parse(line);
    if (method === 'initialize')
      say({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'small', version: '1' } } });
    else if (method === 'tools/list') say({ id, result: { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] } });
    else if (params && params.name === 'pid') say({ id, result: { content: [{ type: 'text', text: String(process.pid) }] } });
    else if (params && params.name === 'die') process.exit(3);
    else if (params && params.name === 'other') say({ id: 4711, result: {} });
    else if (params && params.name === 'garbage') process.stdout.write('{"jsonrpc":\\n');
    else if (params && params.name === 'long') process.stdout.write('{' + 'x'.repeat(3 * 1024 * 1024) + '\\n');
  }
});
process.stdin.on('end', () => {});
setInterval(() => {}, 1000);
`;

let gateway: TestGateway;
test.before(async () => {
  const file = join(folder, 'commands.json');
  const node = process.execPath;
  writeFileSync(
    file,
    JSON.stringify({
      everything: {
        command: node,
        args: [script('server-everything'), 'stdio'],
        env: { OWN: 'of the settings' },
      },
      files: { command: node, args: [script('server-filesystem'), folder] },
      small: { command: node, args: ['-e', SMALL] },
      none: { command: join(folder, 'there-is-no-such-program') },
      ends: { command: node, args: ['-e', 'process.exit(1)'] },
    }),
  );
  writeFileSync(join(folder, 'note.txt'), 'what the note says');
  const path = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '' };
  gateway = await startGateway({
    ...path,
    OPENAI_API_KEY: 'a-secret-of-ours',
    GATEWAY_MCP_STDIO: file,
    GATEWAY_MCP_STDIO_PROCESSES: '3',
    GATEWAY_BODY_LIMIT: '1MiB',
    LOG_LEVEL: 'info',
  });
  for (const name of ['everything', 'files', 'small', 'none', 'ends']) await addServer(name);
});
test.after.always('programs end with the gateway', async () => {
  try {
    await gateway?.close();
    await eventually('all programs have ended', () => !written().flat().some(isAlive));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

async function addServer(name: string): Promise<void> {
  await ok(gateway, 'POST', '/mcp-integrations', { body: integration(name) });
  const body = { name, slug: name, mcp_integration_id: `program-${name}`, workspace_id: 'default' };
  await ok(gateway, 'POST', '/mcp-servers', { body });
}

const integration = (name: string) => ({
  name,
  slug: `program-${name}`,
  url: `stdio:${name}`,
  transport: 'stdio',
  auth_type: 'none',
  workspace_id: 'default',
});
const at = (slug: string) => `${gateway.origin}/${slug}/mcp`;
const textOf = (result: unknown) => (result as { content: { text: string }[] }).content[0]!.text;

async function older(slug: string, key = WORKSPACE_KEY): Promise<OlderClient> {
  const client = new OlderClient({ name: 'older', version: '1' });
  const requestInit = { headers: { authorization: `Bearer ${key}` } };
  await client.connect(new OlderTransport(new URL(at(slug)), { requestInit }) as never);
  return client;
}

const isAlive = (pid: number): boolean => {
  try {
    // A process that has ended and was not waited for is still there as a zombie.
    return !/^\d+ \(.*\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};
const written = (): number[][] =>
  (existsSync(pids) ? readFileSync(pids, 'utf8') : '')
    .trim()
    .split('\n')
    .filter(Boolean)
    .map((line) => line.split(' ').map(Number));

test.serial(
  'server-everything as a program: clients of both generations; nothing of our environment',
  async (t) => {
    const client = await older('everything');
    t.is(textOf(await client.callTool({ name: 'echo', arguments: { message: 'hi' } })), 'Echo: hi');
    const env = textOf(await client.callTool({ name: 'get-env', arguments: {} }));
    t.regex(env, /of the settings/);
    t.notRegex(env, /a-secret-of-ours|GATEWAY_|slk_test/);
    await client.close();
    const newer = new Client(
      { name: 'newer', version: '1' },
      { versionNegotiation: { mode: { pin: MODERN } } },
    );
    const requestInit = { headers: { authorization: `Bearer ${WORKSPACE_KEY}` } };
    await newer.connect(new StreamableHTTPClientTransport(new URL(at('everything')), { requestInit }));
    t.is(textOf(await newer.callTool({ name: 'echo', arguments: { message: 'hi' } })), 'Echo: hi');
    await newer.close();
  },
);

test.serial('server-filesystem as a program is read by the control plane, and called', async (t) => {
  t.like(await ok(gateway, 'POST', '/mcp-integrations/program-files/test', { body: {} }), { success: true });
  const synced = await ok(gateway, 'POST', '/mcp-integrations/program-files/sync', { body: {} });
  t.true(synced.success, JSON.stringify(synced));
  const listed = await ok(gateway, 'GET', '/mcp-integrations/program-files/capabilities');
  t.true((listed.data as { name: string }[]).some(({ name }) => name === 'read_text_file'));
  const path = join(folder, 'note.txt');
  const client = await older('files');
  const read = await client.callTool({ name: 'read_text_file', arguments: { path } });
  t.is(textOf(read), 'what the note says');
  const outside = { name: 'read_text_file', arguments: { path: '/etc/passwd' } };
  t.notRegex(textOf(await client.callTool(outside)), /root:/);
  await client.close();
});

test.serial(
  'one program for each caller; a session that ends ends it with all that it started',
  async (t) => {
    const body = { name: 'other', workspace_id: 'default', scopes: ['mcp.invoke'] };
    const { key } = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
    const call = (own: string) =>
      modern(at('small'), 'tools/call', { name: 'pid', arguments: {} }, { authorization: `Bearer ${own}` });
    const [one, two, again] = [await call(WORKSPACE_KEY), await call(String(key)), await call(WORKSPACE_KEY)];
    const pidOf = (answer: typeof one) => Number(textOf(answer.json.result));
    t.not(pidOf(one), pidOf(two));
    t.is(pidOf(again), pidOf(one));
    const client = await older('small');
    const own = Number(textOf(await client.callTool({ name: 'pid', arguments: {} })));
    t.false([pidOf(one), pidOf(two)].includes(own));
    const group = written().find(([pid]) => pid === own)!;
    await (client.transport as OlderTransport).terminateSession();
    await client.close();
    await eventually('the program and its child have ended', () => !group.some(isAlive));
    t.true(isAlive(pidOf(one)));
  },
);

test.serial('the number of programs has a bound: the one that rested longest makes room', async (t) => {
  const clients = [await older('small'), await older('small'), await older('small'), await older('small')];
  const alive = written().filter(([pid = 0]) => isAlive(pid));
  await eventually('at most three run', () => written().filter(([pid = 0]) => isAlive(pid)).length <= 3);
  t.true(alive.length >= 1);
  const first = clients[0]!;
  const pid = await first.callTool({ name: 'pid', arguments: {} }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  t.true(pid === undefined || /Session not found|404/.test(pid), pid);
  for (const client of clients) {
    await (client.transport as OlderTransport).terminateSession().catch(() => {});
    await client.close();
  }
});

test.serial(
  'a program that ends is started again for the next call; garbage ends its session alone',
  async (t) => {
    const call = (name: string) => modern(at('small'), 'tools/call', { name, arguments: {} });
    for (const name of ['die', 'other', 'garbage', 'long']) {
      const failed = await call(name);
      t.is(failed.json.error?.code, -32603, `${name} ${failed.text}`);
      t.notRegex(failed.text, new RegExp(folder));
      const next = await call('pid');
      t.regex(textOf(next.json.result), /^\d+$/, name);
    }
    const ends = () => gateway.logLines.filter((line) => line.includes('has ended by itself')).length;
    const before = ends();
    const [pid = 0] = written().at(-1)!;
    process.kill(pid, 'SIGKILL');
    await eventually('the gateway knows', () => ends() > before);
    t.regex(textOf((await call('pid')).json.result), /^\d+$/);
  },
);

test.serial('programs that cannot run: an error of the protocol, without their path', async (t) => {
  for (const name of ['none', 'ends']) {
    for (let i = 0; i < 3; i++) {
      const answer = await modern(at(name), 'tools/call', { name: 'x', arguments: {} });
      t.is(answer.json.error?.code, -32603, answer.text);
      t.notRegex(answer.text, /there-is-no-such-program/);
    }
    const test = await ok(gateway, 'POST', `/mcp-integrations/program-${name}/test`, { body: {} });
    t.false(test.success);
  }
});

test.serial('what a program writes for people is in the log, within a bound', async (t) => {
  const said = gateway.logLines.filter((line) => line.includes('an MCP server says'));
  t.true(said.some((line) => line.includes('a line for people')));
  t.true(said.every((line) => line.length < 4096));
});

test.serial('no body of the API starts another program', async (t) => {
  const wrong = [
    { url: 'stdio:other' },
    { url: 'stdio:' },
    { url: 'stdio:../small' },
    { url: 'stdio:small/x' },
    { url: '/bin/sh' },
    { url: 'http://127.0.0.1:1/mcp' },
    { url: 'stdio:small', transport: 'http' },
    { url: 'stdio:small', transport: 'sse' },
    { url: 'stdio:small', transport: 'openapi' },
    { auth_type: 'headers', configurations: { custom_headers: { 'x-a': 'b' } } },
    { configurations: { custom_headers: { 'x-a': 'b' } } },
    { configurations: { passthrough_headers: ['x-a'] } },
    { configurations: { command: '/bin/sh', args: ['-c', 'id'] } },
    { configurations: { env: { A: 'b' } } },
  ];
  for (const members of wrong) {
    const answer = await fetch(`${gateway.origin}/v1/mcp-integrations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ ...integration('small'), slug: 'wrong', ...members }),
    });
    t.is(answer.status, 400, JSON.stringify(members));
  }
  const changed = await fetch(`${gateway.origin}/v1/mcp-integrations/program-files`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({ url: 'stdio:sh' }),
  });
  t.is(changed.status, 400);
});

test('the setting: what it may say, and no value in its faults', (t) => {
  t.is(readStdioCommands('{"a":{"command":"x"}}', {}).get('a')?.command, 'x');
  const wrong = [
    '{',
    '{"a":"x"}',
    '{"a":{"command":""}}',
    '{"a":{"args":[]}}',
    '{"a b":{"command":"x"}}',
    '{"a":{"command":"x","args":"-c"}}',
    '{"a":{"command":"x","args":[1]}}',
    '{"a":{"command":"x","env":{"A=B":"s3cret"}}}',
    '{"a":{"command":"x","env":{"A":1}}}',
    '{"a":{"command":"x","cwd":"relative"}}',
    '{"a":{"command":"x","shell":true}}',
    '{"a":{"command":"x","env":{"K":"s3cret"}},}',
    '/no/such/file.json',
  ];
  for (const text of wrong) {
    const error = t.throws(() => readStdioCommands(text, {}), undefined, text);
    t.notRegex(error?.message ?? '', /s3cret/);
  }
});
