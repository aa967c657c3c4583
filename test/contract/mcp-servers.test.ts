// MCP servers over REST, Connect and gRPC: made, listed with metadata, switched, opened to users, and their tokens.
import test from 'ava';
import { McpIntegrationsService } from '../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { McpServersService } from '../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { type RunningServer, startEverything } from '../support/mcp/servers.ts';
import { type People, type Person, peopleOf } from '../support/people.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { type Caller, storiesOf } from './story.ts';

const { method } = McpServersService;
const integrations = McpIntegrationsService.method;
const TOKEN = 'at-very-secret-0123456789';

let bench: Bench;
let people: People;
let everything: RunningServer;
let place: string;
let anna: Person;
let bert: Person;
let manager: Person;
let count = 0;
test.before(async () => {
  bench = await startBench({ LOG_LEVEL: 'trace', GATEWAY_PUBLIC_URL: 'https://gateway.example.com' });
  everything = await startEverything();
  people = peopleOf(bench.gateway);
  place = await people.workspace();
  anna = await people.person(place, 'member');
  bert = await people.person(place, 'member');
  manager = await people.person(place, 'manager');
});
test.after.always(async () => {
  await bench?.close();
  await everything?.close();
});

const story = storiesOf(() => bench);
const slug = (): string => `srv-${++count}-x`;

async function integrated(admin: Caller, more: JsonObject = {}): Promise<string> {
  const body = {
    name: 'Upstream',
    url: 'https://mcp.example.com/mcp',
    auth_type: 'none',
    transport: 'http',
    workspace_id: place,
    ...more,
  };
  return String((await admin.ok(integrations.createMcpIntegration, body)).id);
}

async function served(admin: Caller, more: JsonObject = {}): Promise<string> {
  const mcp_integration_id = await integrated(admin);
  const body = { name: 'Server', mcp_integration_id, workspace_id: place, slug: slug(), ...more };
  return String((await admin.ok(method.createMcpServer, body)).id);
}

story('a server is made, listed with what its upstream says, changed, archived', async (t, admin) => {
  const own = slug();
  const mcp_integration_id = await integrated(admin, { url: everything.url });
  await admin.ok(integrations.syncMcpIntegration, { id: mcp_integration_id });
  const made = await admin.ok(method.createMcpServer, {
    name: 'Everything',
    mcp_integration_id,
    workspace_id: place,
    slug: own,
    configurations: { tool_prices: { '*': 0.001, echo: 0 } },
  });
  t.regex(String(made.id), UUID);
  t.is(made.slug, own);
  const list = await admin.ok(method.listMcpServers, { workspace_id: place, search: own.toUpperCase() });
  const [one] = list.data as JsonObject[];
  t.like(one, {
    id: made.id,
    name: 'Everything',
    url: `https://gateway.example.com/${own}/mcp`,
    mcp_integration_id,
    mcp_integration_url: everything.url,
    auth_type: 'none',
    workspace_id: place,
    object: 'mcp-server',
    configurations: { tool_prices: { '*': 0.001, echo: 0 } },
  });
  t.like(one?.metadata, { server_name: 'mcp-servers/everything', sync_status: 'synced', object: 'metadata' });
  const metadata = await admin.ok(method.getMcpServerMetadata, { id: own });
  t.deepEqual(metadata, one?.metadata as JsonObject);
  t.deepEqual(
    Object.keys(metadata).sort(),
    [
      ...['capability_flags', 'description', 'icons', 'instructions', 'last_synced_at', 'object'],
      ...['protocol_version', 'server_name', 'server_version', 'sync_error', 'sync_status', 'title'],
      'website_url',
    ].filter((name) => name in metadata),
  );
  t.is((await admin.ok(method.listMcpServers, { id: `${made.id},nothing` })).total?.toString(), '1');
  t.like(await admin.ok(method.testMcpServer, { id: own }), {
    success: true,
    status_code: 200,
    server_name: 'Everything',
    object: 'mcp-server',
  });
  t.deepEqual(await admin.ok(method.updateMcpServer, { id: own, name: 'Renamed', description: 'd' }), {});
  t.like(await admin.ok(method.getMcpServer, { id: own }), { name: 'Renamed', description: 'd' });
  const used = await admin.refused(integrations.deleteMcpIntegration, { id: mcp_integration_id });
  t.is(used.status, 409);
  t.deepEqual(await admin.ok(method.deleteMcpServer, { id: own }), {});
  t.is((await admin.refused(method.getMcpServer, { id: own })).status, 404);
  await admin.ok(integrations.deleteMcpIntegration, { id: mcp_integration_id });
});

story('what cannot work is refused, naming the member', async (t, admin) => {
  const mcp_integration_id = await integrated(admin);
  const body = { name: 'S', mcp_integration_id, workspace_id: place };
  const refused = async (more: JsonObject, param: string, status = 400) => {
    const error = await admin.refused(method.createMcpServer, { ...body, ...more });
    t.is(error.param, param, error.message);
    t.is(error.status, status);
  };
  for (const reserved of ['oauth', 'admin', 'docs', 'mcp', 'proxy', 'console', 'Console'])
    await refused({ slug: reserved }, 'slug');
  await refused({ slug: 'ab' }, 'slug');
  await refused({ slug: 'a'.repeat(51) }, 'slug');
  await refused({ slug: 'a__b' }, 'slug');
  await refused({ name: '' }, 'name');
  await refused({ name: 'n'.repeat(256) }, 'name');
  await refused({ description: 'd'.repeat(501) }, 'description');
  await refused({ mcp_integration_id: 'nothing' }, 'mcp_integration_id');
  await refused(
    { mcp_integration_id: await integrated(admin, { workspace_id: 'default' }) },
    'mcp_integration_id',
  );
  await refused({ configurations: { custom_headers: {} } }, 'configurations.custom_headers');
  const { workspace_id: _, ...placeless } = body;
  t.like(await admin.refused(method.createMcpServer, placeless), { status: 400, param: 'workspace_id' });
  const twice = { ...body, slug: slug() };
  await admin.ok(method.createMcpServer, twice);
  t.is((await admin.refused(method.createMcpServer, twice)).status, 409);
  t.is((await admin.refused(method.updateMcpServer, { id: twice.slug })).status, 400);
});

story("the integration's switch wins over the server's", async (t, admin) => {
  const mcp_integration_id = await integrated(admin);
  const capabilities = ['echo', 'add'].map((name) => ({ type: 'tool', name }));
  await admin.ok(integrations.syncMcpIntegration, { id: mcp_integration_id, capabilities });
  const id = await served(admin, { mcp_integration_id });
  const off = { name: 'echo', type: 'tool', enabled: false };
  await admin.ok(integrations.updateMcpIntegrationCapabilities, {
    id: mcp_integration_id,
    capabilities: [off],
  });
  t.deepEqual(
    await admin.ok(method.updateMcpServerCapabilities, {
      id,
      capabilities: [
        { ...off, enabled: true },
        { ...off, name: 'add' },
      ],
    }),
    { success: true },
  );
  const { data, counts } = await admin.ok(method.listMcpServerCapabilities, { id });
  const [echo, add] = data as JsonObject[];
  t.like(echo, { name: 'echo', enabled: true, integration_enabled: false });
  t.like(add, { name: 'add', enabled: false, integration_enabled: true });
  t.deepEqual((counts as { tools: JsonObject }).tools, { total: 2, enabled: 0 });
  // A sync through the server leaves them.
  await admin.ok(method.syncMcpServerCapabilities, {
    id,
    capabilities: [...capabilities, { type: 'tool', name: 'new', schema: { type: 'object' } }],
  });
  const after = await admin.ok(method.listMcpServerCapabilities, { id });
  t.deepEqual(
    (after.data as JsonObject[]).map(({ name, enabled }) => [name, enabled]),
    [
      ['echo', true],
      ['add', false],
      ['new', true],
    ],
  );
  await admin.ok(method.syncMcpServerMetadata, { id, server_name: 'told', title: 'Told' });
  t.like(await admin.ok(method.getMcpServerMetadata, { id }), { server_name: 'told', title: 'Told' });
});

story('users are let in or kept out; service keys are not users', async (t, admin) => {
  const id = await served(admin);
  const access = () => admin.ok(method.listMcpServerUserAccess, { id });
  const { data, default_user_access, total } = await access();
  t.is(default_user_access, 'allow');
  t.is(Number(total), 3);
  t.like(
    (data as JsonObject[]).find(({ user_id }) => user_id === anna.id),
    {
      enabled: true,
      has_override: false,
      connection_status: 'not_connected',
    },
  );
  const put = (body: JsonObject) => admin.ok(method.updateMcpServerUserAccess, { id, ...body });
  t.deepEqual(
    await put({ user_access: [{ user_id: anna.id, enabled: true }], default_user_access: 'deny' }),
    { success: true },
  );
  const check = async (key: string) =>
    (await admin.as(key).ok(method.checkMcpServerUserAccess, { id })).has_access ?? false;
  t.true(await check(anna.key));
  t.false(await check(bert.key));
  t.true(await check(await people.service(place)));
  const refused = async (user_access: JsonObject[], param: string) => {
    const error = await admin.refused(method.updateMcpServerUserAccess, { id, user_access });
    t.like(error, { status: 400, param });
  };
  await refused([{ user_id: 'nobody', enabled: true }], 'user_access[0].user_id');
  await refused(
    [
      { user_id: anna.id, enabled: true },
      { id: anna.id, enabled: true },
    ],
    'user_access[1].user_id',
  );
  const kept = await admin.as(bert.key).refused(method.setMcpServerTokens, { id, access_token: TOKEN });
  t.is(kept.status, 403);
});

story("a user's tokens are read by that user alone", async (t, admin) => {
  const id = await served(admin);
  const own = admin.as(anna.key);
  const service = admin.as(await people.service(place));
  const expires_at = '2030-01-01T00:00:00.000Z';
  t.deepEqual(
    await own.ok(method.setMcpServerTokens, { id, access_token: TOKEN, refresh_token: 'rt', expires_at }),
    { success: true },
  );
  t.deepEqual(await own.ok(method.getMcpServerTokens, { id }), {
    access_token: TOKEN,
    refresh_token: 'rt',
    expires_at,
  });
  for (const other of [bert.key, manager.key])
    t.is((await admin.as(other).refused(method.getMcpServerTokens, { id })).status, 404);
  for (const other of [admin, service])
    for (const one of [method.getMcpServerTokens, method.deleteMcpServerTokens])
      t.is((await other.refused(one, { id })).status, 403);

  const connections = async (caller: Caller, more: JsonObject = {}) =>
    ((await caller.ok(method.listMcpServerConnections, { id, ...more })).data ?? []) as JsonObject[];
  t.like((await connections(own))[0], { user_id: anna.id, connected: true });
  t.deepEqual(await connections(admin.as(bert.key)), []);
  t.is((await connections(admin.as(manager.key)))[0]?.user_id, anna.id);
  t.notRegex(JSON.stringify(await connections(admin)), /very-secret/);
  const asked = { id, user_id: anna.id };
  t.is((await admin.as(bert.key).refused(method.listMcpServerConnections, asked)).status, 403);
  t.is((await admin.as(bert.key).refused(method.deleteMcpServerConnections, asked)).status, 403);
  const unnamed = await service.refused(method.deleteMcpServerConnections, { id });
  t.like(unnamed, { status: 400, param: 'user_id' });
  t.deepEqual(await service.ok(method.deleteMcpServerConnections, asked), { success: true });
  t.is((await own.refused(method.getMcpServerTokens, { id })).status, 404);
  t.notRegex(bench.gateway.logLines.join(''), /very-secret/);
  await own.ok(method.setMcpServerTokens, { id, access_token: TOKEN });
  t.deepEqual(await own.ok(method.deleteMcpServerTokens, { id }), { success: true });
  t.deepEqual(await connections(admin), []);
});

story('the audit log says whose tokens changed, and no token', async (t, admin) => {
  const id = await served(admin);
  await admin.as(anna.key).ok(method.setMcpServerTokens, { id, access_token: TOKEN });
  const body = await people.ok('GET', '/audit-logs?page_size=50');
  t.regex(JSON.stringify(body), /mcp-server-tokens/);
  t.notRegex(JSON.stringify(body), /very-secret/);
});

story('a server is seen in its own workspace alone', async (t, admin) => {
  const id = await served(admin);
  const elsewhere = await people.workspace();
  const stranger = admin.as(await people.service(elsewhere));
  for (const one of [method.getMcpServer, method.getMcpServerMetadata, method.deleteMcpServer])
    t.is((await stranger.refused(one, { id })).status, 404);
  t.deepEqual((await stranger.ok(method.listMcpServers, {})).data ?? [], []);
});

story('the OAuth client is shown with its secret masked', async (t, admin) => {
  const configurations = {
    oauth_metadata: {
      client_id: 'gateway',
      client_secret: 'very-secret-0123456789',
      token_endpoint: 'https://login.example.com/token',
    },
  };
  const mcp_integration_id = await integrated(admin, {
    auth_type: 'oauth_client_credentials',
    configurations,
  });
  const id = await served(admin, { mcp_integration_id });
  t.deepEqual(await admin.ok(method.getMcpServerClientInfo, { id }), {
    client_id: 'gateway',
    client_secret: 've*****789',
  });
});
