// The official conformance suite's scenarios of authorisation: the gateway as authorization server, and as client of others.
import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import test from 'ava';
import { ADMIN_KEY, type TestGateway } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, signedIn } from '../support/mcp/oauth-person.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { peopleOf } from '../support/people.ts';

const CLI = fileURLToPath(
  new URL('../../node_modules/@modelcontextprotocol/conformance/dist/index.js', import.meta.url),
);
const DRIVER = fileURLToPath(new URL('../support/mcp/oauth-driver.ts', import.meta.url));
let upstream: Upstream;
let gateway: TestGateway;
let person: Person;
let userKey: string;
test.before(async () => {
  upstream = await startLegacyUpstream();
  gateway = await startMcpGateway(
    { tools: { url: upstream.url } },
    { GATEWAY_EGRESS_ALLOW: 'localhost,127.0.0.1' },
  );
  userKey = (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key;
  person = await signedIn(gateway, userKey);
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

/** Runs the suite. @param seen told of its output as it comes */
async function run(
  args: readonly string[],
  env: Record<string, string> = {},
  seen: (output: string) => void = () => {},
): Promise<{ readonly code: number; readonly output: string }> {
  const cwd = mkdtempSync(join(tmpdir(), 'mcp-conformance-'));
  const child = spawn(process.execPath, [CLI, ...args], {
    cwd,
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (piece: Buffer) => {
      output += piece.toString();
      seen(output);
    });
  const late = setTimeout(() => child.kill('SIGKILL'), 180_000);
  const code = await new Promise<number>((resolve) => child.once('close', (one) => resolve(one ?? 1)));
  clearTimeout(late);
  rmSync(cwd, { recursive: true, force: true });
  return { code, output };
}

const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as { port: number };
      server.close(() => resolve(port));
    });
  });

test.serial('as authorization server: metadata and the code grant', async (t) => {
  const port = await freePort();
  const registered = await fetch(`${gateway.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      client_name: 'conformance',
      redirect_uris: [`http://127.0.0.1:${port}/callback`],
    }),
  });
  const { client_id: id } = (await registered.json()) as { client_id: string };
  let isAsked = false;
  const args = [
    'authorization',
    '--url',
    gateway.origin,
    '--client-id',
    id,
    '--resource',
    `${gateway.origin}/tools/mcp`,
    '--port',
    String(port),
  ];
  const { code, output } = await run(args, {}, (text) => {
    const url = /https?:\/\/\S*\/oauth\/authorize\?\S+/.exec(text)?.[0];
    if (url === undefined || isAsked) return;
    isAsked = true;
    void person
      .answer(url)
      .then((back) => fetch(back))
      .then((answer) => answer.body?.cancel());
  });
  t.is(code, 0, output.slice(-3000));
  t.true(isAsked, output.slice(-3000));
  t.regex(output, /passed/i);
});

/** Those that differ in what they try; the others of the suite pass, too, but for basic-cimd, which wants a gateway at an https address. */
const SCENARIOS = [
  'metadata-default',
  'metadata-var2',
  'metadata-var3',
  'scope-from-www-authenticate',
  'scope-step-up',
  'token-endpoint-auth-basic',
  'token-endpoint-auth-post',
  'pre-registration',
  '2025-03-26-oauth-endpoint-fallback',
  'resource-mismatch',
  'authorization-server-migration',
  'iss-supported-missing',
  'iss-wrong-issuer',
  'iss-unexpected',
  'metadata-issuer-mismatch',
  'client-credentials-basic',
];
for (const name of SCENARIOS)
  test.serial(`as client: auth/${name}`, async (t) => {
    const env = {
      DRIVER_ORIGIN: gateway.origin,
      DRIVER_USER_KEY: userKey,
      DRIVER_ADMIN_KEY: ADMIN_KEY,
      DRIVER_WORKSPACE: gateway.app.tenancy.workspaceId,
      NODE_NO_WARNINGS: '1',
    };
    const { code, output } = await run(
      [
        'client',
        '--command',
        `${process.execPath} ${DRIVER}`,
        '--scenario',
        `auth/${name}`,
        '--timeout',
        '60000',
      ],
      env,
    );
    t.is(code, 0, output.slice(-6000));
  });
