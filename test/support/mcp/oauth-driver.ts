// The gateway as the client that the conformance suite tests: its server is made an upstream of a running gateway, and a
// user connects to it and calls it. Arguments: the server's address; the gateway is in the environment.
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { ok } from '../front-door.ts';
import { signedIn } from './oauth-person.ts';

const env = (name: string): string => process.env[name] ?? '';
const gateway = { origin: env('DRIVER_ORIGIN') };
const [userKey, adminKey, workspaceId] = [
  env('DRIVER_USER_KEY'),
  env('DRIVER_ADMIN_KEY'),
  env('DRIVER_WORKSPACE'),
];
const url = process.argv.at(-1) ?? '';
const context = JSON.parse(env('MCP_CONFORMANCE_CONTEXT') || '{}') as {
  readonly client_id?: string;
  readonly client_secret?: string;
};
const slug = `c${Date.now().toString(36)}${Math.floor(Math.random() * 1e6).toString(36)}`;
const isMachine = env('MCP_CONFORMANCE_SCENARIO') === 'auth/client-credentials-basic';

async function main(): Promise<void> {
  const { client_id: clientId, client_secret: clientSecret } = context;
  const oauth =
    clientId === undefined
      ? {}
      : { client_id: clientId, ...(clientSecret === undefined ? {} : { client_secret: clientSecret }) };
  await ok(gateway, 'POST', '/mcp-integrations', {
    key: adminKey,
    body: {
      name: slug,
      slug,
      url,
      transport: 'http',
      auth_type: isMachine ? 'oauth_client_credentials' : 'oauth_auto',
      workspace_id: workspaceId,
      ...(clientId === undefined ? {} : { configurations: { oauth_metadata: oauth } }),
    },
  });
  await ok(gateway, 'POST', '/mcp-servers', {
    key: adminKey,
    body: { name: slug, slug, mcp_integration_id: slug, workspace_id: workspaceId },
  });
  const person = await signedIn(gateway, userKey);
  for (let attempt = 0; attempt < 4; attempt++) {
    const link = await called();
    if (link === undefined) return;
    const { pathname, search } = new URL(link);
    const begun = await person.post(`${gateway.origin}${pathname}${search}`, {});
    if (begun.status !== 303) throw new Error(await begun.text());
    const cookie = begun.headers
      .getSetCookie()
      .map((line) => line.split(';')[0])
      .join('; ');
    let location = begun.headers.get('location') ?? '';
    for (let step = 0; step < 5 && !location.startsWith(`${gateway.origin}/oauth/callback`); step++) {
      const answer = await fetch(location, { redirect: 'manual' });
      location = new URL(answer.headers.get('location') ?? '', location).href;
    }
    const done = await person.open(location, { cookie: `${person.cookie}; ${cookie}` });
    if (done.status !== 200) throw new Error(await done.text());
  }
  throw new Error('the server asks for consent again and again');
}

/** Lists and calls tools through the gateway. @returns where the user has to connect */
async function called(): Promise<string | undefined> {
  const transport = new StreamableHTTPClientTransport(new URL(`${gateway.origin}/${slug}/mcp`), {
    requestInit: { headers: { authorization: `Bearer ${userKey}` } },
  });
  const client = new Client({ name: 'driver', version: '1' }, { versionNegotiation: { mode: 'auto' } });
  try {
    await client.connect(transport);
    const { tools } = await client.listTools();
    for (const { name } of tools.slice(0, 1)) await client.callTool({ name, arguments: {} });
    return undefined;
  } catch (error) {
    const link = /connect at (\S+) and try/.exec(String((error as Error).message))?.[1];
    if (link === undefined) throw error;
    return link;
  } finally {
    await client.close().catch(() => {});
  }
}

main().then(
  () => process.exit(0),
  (error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    process.exit(1);
  },
);
