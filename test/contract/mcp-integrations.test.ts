// MCP integrations over REST, Connect and gRPC: made, masked, changed, shared, read from real servers, switched.
import test from 'ava';
import { McpIntegrationsService } from '../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { SecretReferencesService } from '../../gen/gateway/admin/v2/secret_references_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import {
  type Offer,
  type RunningServer,
  startAnswering,
  startEverything,
  startNewest,
} from '../support/mcp/servers.ts';
import { peopleOf } from '../support/people.ts';
import { type Bench, type JsonObject, startBench, UUID } from './runner.ts';
import { type Caller, storiesOf } from './story.ts';

const { method } = McpIntegrationsService;
const SECRET = 'Bearer a-very-secret-token-0123';

let bench: Bench;
let everything: RunningServer;
let count = 0;
test.before(async () => {
  bench = await startBench({ LOG_LEVEL: 'trace', GATEWAY_SECRET_ENV_ALLOW: 'MCP_TOKEN', MCP_TOKEN: SECRET });
  everything = await startEverything();
});
test.after.always(async () => {
  await bench?.close();
  await everything?.close();
});

const story = storiesOf(() => bench);
const slug = (): string => `mcp-${++count}-x`;
const plain = (more: JsonObject = {}): JsonObject => ({
  name: 'Tickets',
  url: 'https://mcp.example.com/mcp',
  auth_type: 'none',
  transport: 'http',
  ...more,
});
const made = async (admin: Caller, more: JsonObject = {}): Promise<string> =>
  String((await admin.ok(method.createMcpIntegration, plain({ slug: slug(), ...more }))).id);

story('an integration is made, shown with its secrets masked, changed, archived', async (t, admin) => {
  const own = slug();
  const answer = await admin.ok(
    method.createMcpIntegration,
    plain({
      slug: own,
      description: 'd',
      auth_type: 'headers',
      configurations: { custom_headers: { authorization: SECRET }, passthrough_headers: ['X-Request-Id'] },
    }),
  );
  t.deepEqual(Object.keys(answer).sort(), ['id', 'object', 'slug']);
  t.regex(String(answer.id), UUID);
  const get = (id = own) => admin.ok(method.getMcpIntegration, { id });
  const shown = await get(String(answer.id));
  t.like(shown, {
    slug: own,
    description: 'd',
    auth_type: 'headers',
    transport: 'http',
    type: 'organisation',
    status: 'active',
    object: 'mcp-integration',
  });
  t.deepEqual(shown.configurations, {
    masked_custom_headers: { authorization: 'Be*****123' },
    passthrough_headers: ['x-request-id'],
  });
  t.like(shown.metadata, { sync_status: 'pending', object: 'metadata' });
  const update = (body: JsonObject) => admin.ok(method.updateMcpIntegration, { id: own, ...body });
  // What was shown may come back; a secret that is not named stays.
  t.deepEqual(await update({ name: 'Renamed', configurations: shown.configurations! }), {});
  t.deepEqual((await get()).configurations, shown.configurations);
  await update({ configurations: { passthrough_headers: ['x-team'] } });
  t.deepEqual((await get()).configurations, {
    masked_custom_headers: { authorization: 'Be*****123' },
    passthrough_headers: ['x-team'],
  });
  const list = await admin.ok(method.listMcpIntegrations, { search: own.toUpperCase() });
  t.is(Number(list.total), 1);
  t.like((list.data as JsonObject[])[0], { id: answer.id, name: 'Renamed' });
  t.notRegex(JSON.stringify(list), /very-secret/);
  t.deepEqual(await admin.ok(method.deleteMcpIntegration, { id: own }), {});
  for (const gone of [own, String(answer.id)])
    t.is((await admin.refused(method.getMcpIntegration, { id: gone })).status, 404);
  t.notRegex(bench.gateway.logLines.join(''), /very-secret/);
});

story('what cannot work is refused, naming the member', async (t, admin) => {
  const refused = async (more: JsonObject, param: string, status = 400) => {
    const error = await admin.refused(method.createMcpIntegration, plain(more));
    t.is(error.param, param, error.message);
    t.is(error.status, status);
    t.notRegex(error.message, /very-secret/);
    return error.message;
  };
  await refused({ name: '' }, 'name');
  await refused({ name: 'n'.repeat(256) }, 'name');
  await refused({ slug: 'a b' }, 'slug');
  await refused({ slug: '0b8e4f0e-6f0a-4b47-9a52-3c1d3ea9d6a1' }, 'slug');
  await refused({ description: 'd'.repeat(501) }, 'description');
  await refused({ auth_type: 'basic' }, 'auth_type');
  await refused({ transport: 'ws' }, 'transport');
  await refused({ transport: 'stdio' }, 'url');
  await refused({ url: 'mcp.example.com' }, 'url');
  await refused({ url: 'file:///etc/passwd' }, 'url');
  await refused({ url: 'https://user:password@mcp.example.com/mcp' }, 'url');
  await refused({ url: 'https://mcp.example.com/mcp#x' }, 'url');
  t.regex(await refused({ url: 'http://192.168.3.4:8080/mcp' }, 'url'), /GATEWAY_EGRESS_ALLOW/);
  await refused({ url: 'http://169.254.169.254/mcp' }, 'url');
  await refused({ auth_type: 'headers' }, 'configurations.custom_headers');
  const client = 'oauth_client_credentials';
  await refused({ auth_type: client }, 'configurations.oauth_metadata.client_id');
  await refused(
    { auth_type: client, configurations: { oauth_metadata: { client_id: 'c' } } },
    'configurations.oauth_metadata.client_secret',
  );
  const conf = (configurations: JsonObject, param: string) =>
    refused({ configurations }, `configurations.${param}`);
  await conf({ command: 'rm' }, 'command');
  await conf({ custom_headers: 'x' }, 'custom_headers');
  await conf({ custom_headers: { host: 'x' } }, 'custom_headers.host');
  await conf({ custom_headers: { 'mcp-session-id': 'x' } }, 'custom_headers.mcp-session-id');
  await conf({ custom_headers: { a: `${SECRET}\r\nb: c` } }, 'custom_headers.a');
  await conf({ custom_headers: { a: 'x', A: 'y' } }, 'custom_headers.A');
  await conf({ passthrough_headers: ['x-gateway-api-key'] }, 'passthrough_headers[0]');
  await conf({ passthrough_headers: [7] }, 'passthrough_headers[0]');
  await conf(
    { oauth_metadata: { token_endpoint: 'http://10.0.0.1/token' } },
    'oauth_metadata.token_endpoint',
  );
  await conf({ guardrails: { input: ['nothing'] } }, 'guardrails.input[0]');
  await conf({ guardrails: { tools: { echo: { before: [] } } } }, 'guardrails.tools.echo.before');
  await conf({ tool_prices: { echo: -1 } }, 'tool_prices.echo');
  await conf({ hold_changed_tools: 'yes' }, 'hold_changed_tools');
  await refused({ workspace_id: 'nowhere' }, 'workspace_id');
  const twice = plain({ slug: slug() });
  await admin.ok(method.createMcpIntegration, twice);
  t.is((await admin.refused(method.createMcpIntegration, twice)).status, 409);
  const id = await made(admin);
  t.is((await admin.refused(method.updateMcpIntegration, { id })).status, 400);
  for (const one of [method.getMcpIntegration, method.syncMcpIntegration, method.deleteMcpIntegration])
    t.is((await admin.refused(one, { id: 'nothing' })).status, 404);
});

story('a new address asks for its secrets again', async (t, admin) => {
  const id = await made(admin, {
    auth_type: 'headers',
    configurations: { custom_headers: { authorization: SECRET } },
  });
  const elsewhere = { id, url: 'https://evil.example.com/mcp' };
  const error = await admin.refused(method.updateMcpIntegration, elsewhere);
  t.like(error, { status: 400, param: 'configurations.custom_headers' });
  await admin.ok(method.updateMcpIntegration, { id, url: 'https://mcp.example.com/other' });
  const configurations = { custom_headers: { authorization: 'Bearer another-0123456789' } };
  await admin.ok(method.updateMcpIntegration, { ...elsewhere, configurations });
});

story('an integration of the organisation is shared with workspaces', async (t, admin) => {
  const id = await made(admin);
  const workspace = await admin.ok(WorkspacesService.method.createWorkspace, { name: `MCP ${++count}` });
  const home = String(await defaultWorkspace(admin));
  const member = admin.as(await peopleOf(bench.gateway).service(home));
  t.is((await member.refused(method.getMcpIntegration, { id })).status, 404);
  const share = (body: JsonObject) => admin.ok(method.updateMcpIntegrationWorkspaces, { id, ...body });
  t.deepEqual(await share({ workspaces: [{ id: 'default', enabled: true }] }), {});
  const { workspaces, global_workspace_access, object } = await admin.ok(
    method.listMcpIntegrationWorkspaces,
    { id },
  );
  t.is(object, 'integration');
  t.is(global_workspace_access ?? null, null);
  t.is((workspaces as JsonObject[]).length, 1);
  t.regex(String((workspaces as JsonObject[])[0]?.id), UUID);
  const versioned = await admin.ok(method.listMcpIntegrationWorkspaces, { id, version: '2' });
  t.is((versioned.data as JsonObject[]).length, 1);
  t.deepEqual(versioned.workspaces ?? [], []);
  const listed = await member.ok(method.listMcpIntegrations, {});
  t.true((listed.data as JsonObject[]).some((one) => one.id === id));
  t.is((await member.refused(method.updateMcpIntegration, { id, name: 'x' })).status, 403);
  const own = await made(member);
  const seen = await member.ok(method.listMcpIntegrationWorkspaces, { id: own });
  t.is((seen.workspaces as JsonObject[])[0]?.id, 'default', 'a workspace key is told slugs');
  await share({ global_workspace_access: { enabled: true } });
  const list = await admin.ok(method.listMcpIntegrations, { workspace_id: workspace.id! });
  t.true((list.data as JsonObject[]).some((one) => one.id === id));
  await share({ workspaces: [], override_existing_workspace_access: true });
  t.is((await admin.ok(method.getMcpIntegration, { id })).workspaces_count, 0);
  const twice = { id: 'default', enabled: true };
  const error = await admin.refused(method.updateMcpIntegrationWorkspaces, {
    id,
    workspaces: [twice, twice],
  });
  t.like(error, { status: 400, param: 'workspaces[1].id' });
});

story('a server of the older era is read: what it is, and all that it offers', async (t, admin) => {
  const id = await made(admin, { url: everything.url });
  const { success, details } = await admin.ok(method.syncMcpIntegration, { id });
  t.true(success);
  t.true(Number((details as JsonObject).tools) > 5);
  const metadata = await admin.ok(method.getMcpIntegrationMetadata, { id });
  t.like(metadata, { server_name: 'mcp-servers/everything', sync_status: 'synced', object: 'metadata' });
  t.regex(String(metadata.protocol_version), /^2025-/);
  t.regex(String(metadata.last_synced_at), /^\d{4}-.*Z$/);
  const capabilities = (more: JsonObject = {}) =>
    admin.ok(method.listMcpIntegrationCapabilities, { id, ...more });
  const tools = await capabilities({ type: 'tool', page_size: 500 });
  const echo = (tools.data as JsonObject[]).find(({ name }) => name === 'echo');
  t.like(echo, { type: 'tool', enabled: true, changed: false });
  t.like(echo?.input_schema, { type: 'object' });
  const all = await capabilities({ page_size: 2, page: 2 });
  t.is((all.data as JsonObject[]).length, 2);
  t.true(all.has_more);
  t.deepEqual(
    (await capabilities({ page_size: 2, current_page: 1 })).data,
    all.data,
    'current_page counts from 0',
  );
  t.true(Number((all.counts as JsonObject & { prompts: JsonObject }).prompts.total) > 0);
  t.true((await admin.ok(method.testMcpIntegration, { id })).success);
});

story(
  'switches survive a sync, and a description that changed is marked until it is accepted',
  async (t, admin) => {
    const add = { name: 'add', description: 'Adds.' };
    let offer: Offer = { tools: [{ name: 'echo', description: 'Says it again.' }, add] };
    const newest = await startNewest(() => offer);
    t.teardown(() => newest.close());
    const id = await made(admin, { url: newest.url, configurations: { hold_changed_tools: true } });
    const sync = () => admin.ok(method.syncMcpIntegration, { id });
    t.like(await sync(), { success: true });
    t.like(await admin.ok(method.getMcpIntegrationMetadata, { id }), {
      server_name: 'newest',
      server_version: '3.2.1',
      title: 'The newest',
      description: 'Of 2026.',
      protocol_version: '2026-07-28',
      instructions: 'Call echo.',
    });
    const off = { name: 'add', type: 'tool', enabled: false };
    const put = (...capabilities: JsonObject[]) =>
      admin.ok(method.updateMcpIntegrationCapabilities, { id, capabilities });
    t.deepEqual(await put(off), { success: true });
    offer = { tools: [{ name: 'echo', description: 'Sends it to me.' }, add] };
    t.like((await sync()).details, { changed: 1 });
    const named = async (name: string) => {
      const list = await admin.ok(method.listMcpIntegrationCapabilities, { id });
      return (list.data as JsonObject[]).find((one) => one.name === name);
    };
    t.like(await named('add'), { enabled: false, changed: false });
    t.like(await named('echo'), { enabled: true, changed: true });
    t.truthy((await named('echo'))?.changed_at);
    await put({ name: 'echo', type: 'tool', enabled: true, accept: true });
    t.like(await named('echo'), { enabled: true, changed: false });
    const error = await admin.refused(method.updateMcpIntegrationCapabilities, {
      id,
      capabilities: [off, off],
    });
    t.like(error, { status: 400, param: 'capabilities[1].name' });
  },
);

story('a sync with a body stores what it says', async (t, admin) => {
  const id = await made(admin);
  const capabilities: JsonObject[] = [
    { type: 'tool', name: 'echo', description: 'd', inputSchema: { type: 'object' }, title: 'Echo' },
    { type: 'resource', name: 'notes', uri: 'file:///notes.txt', mime_type: 'text/plain', size: 3 },
    { type: 'resource_template', name: 'files', uriTemplate: 'file:///{path}' },
    { type: 'prompt', name: 'greet', arguments: [{ name: 'who', required: true }] },
  ];
  const server_info = { name: 's', version: '1', protocol_version: '2025-11-25', title: 'S' };
  const answer = await admin.ok(method.syncMcpIntegration, { id, server_info, capabilities });
  t.like(answer.details, { tools: 1, resources: 1, resource_templates: 1, prompts: 1 });
  const { data, counts } = await admin.ok(method.listMcpIntegrationCapabilities, { id });
  const [tool, resource, template, prompt] = data as JsonObject[];
  t.like(tool, { name: 'echo', title: 'Echo', input_schema: { type: 'object' } });
  t.like(resource, { uri: 'file:///notes.txt', mime_type: 'text/plain', size: 3 });
  t.is(template?.uri_template, 'file:///{path}');
  t.deepEqual(prompt?.arguments, [{ name: 'who', required: true }]);
  t.deepEqual((counts as { tools: JsonObject }).tools, { total: 1, enabled: 1 });
  t.like(await admin.ok(method.getMcpIntegrationMetadata, { id }), { server_name: 's', title: 'S' });
  const refused = async (one: JsonObject[], param: string) => {
    const error = await admin.refused(method.syncMcpIntegration, { id, capabilities: one });
    t.like(error, { status: 400, param });
  };
  await refused([{ type: 'agent', name: 'x' }], 'capabilities[0].type');
  await refused([{ type: 'tool', name: '' }], 'capabilities[0].name');
  await refused([{ type: 'tool', name: 'x', description: 7 }], 'capabilities[0].description');
  await refused([capabilities[0]!, capabilities[0]!], 'capabilities[1].name');
});

story('a server that cannot be read is told in words, and what was known stays', async (t, admin) => {
  const redirecting = await startAnswering((_, res) =>
    res.writeHead(302, { location: everything.url }).end(),
  );
  const garbage = await startAnswering((_, res) =>
    res.writeHead(200, { 'content-type': 'application/json' }).end('{"jsonrpc":"2.0","id":'),
  );
  try {
    const sync = async (url: string): Promise<string> => {
      const id = await made(admin, { url });
      await admin.ok(method.syncMcpIntegration, { id, capabilities: [{ type: 'tool', name: 'kept' }] });
      const { success, message } = await admin.ok(method.syncMcpIntegration, { id });
      t.false(success ?? false);
      const metadata = await admin.ok(method.getMcpIntegrationMetadata, { id });
      t.like(metadata, { sync_status: 'error', sync_error: message });
      t.like((await admin.ok(method.listMcpIntegrationCapabilities, { id })).counts, { tools: { total: 1 } });
      t.false((await admin.ok(method.testMcpIntegration, { id })).success ?? false);
      return String(message);
    };
    t.regex(await sync(redirecting.url), /redirect/);
    t.regex(await sync(garbage.url), /MCP/);
    await garbage.close();
    t.regex(await sync(garbage.url), /connect|reach/);
  } finally {
    await redirecting.close();
    await garbage.close();
  }
});

story('headers and secret references reach the server, and no answer shows them', async (t, admin) => {
  const newest = await startNewest(() => ({
    tools: [{ name: 'echo', description: 'd' }],
    secret: ['authorization', SECRET],
  }));
  t.teardown(() => newest.close());
  const configurations = { custom_headers: { authorization: SECRET } };
  const id = await made(admin, { url: newest.url, auth_type: 'headers', configurations });
  t.like(await admin.ok(method.syncMcpIntegration, { id }), { success: true });
  const reference = await admin.ok(SecretReferencesService.method.createSecretReference, {
    name: 'MCP',
    manager_type: 'env',
    auth_config: {},
    secret_path: 'MCP_TOKEN',
  });
  const mapping = {
    target_field: 'custom_headers.authorization',
    secret_reference_id: reference.slug!,
  };
  const mapped = await made(admin, {
    url: newest.url,
    auth_type: 'headers',
    secret_mappings: [mapping],
  });
  t.like(await admin.ok(method.syncMcpIntegration, { id: mapped }), { success: true });
  const shown = await admin.ok(method.getMcpIntegration, { id: mapped });
  t.like((shown.secret_mappings as JsonObject[])[0], {
    target_field: 'configurations.custom_headers.authorization',
    secret_reference_id: reference.id,
  });
  const inUse = await admin.refused(SecretReferencesService.method.deleteSecretReference, {
    secret_reference_id: reference.id!,
  });
  t.is(inUse.status, 409);
  const place = { workspace_id: 'default' };
  const people = peopleOf(bench.gateway);
  const manager = admin.as((await people.person(String(await defaultWorkspace(admin)), 'manager')).key);
  const stolen = plain({ ...place, url: newest.url, auth_type: 'headers', secret_mappings: [mapping] });
  t.is((await manager.refused(method.createMcpIntegration, stolen)).status, 403);
  const wrong = { ...mapping, target_field: 'url' };
  const error = await admin.refused(method.createMcpIntegration, plain({ secret_mappings: [wrong] }));
  t.like(error, { status: 400, param: 'secret_mappings[0].target_field' });
});

async function defaultWorkspace(admin: Caller): Promise<unknown> {
  const list = await admin.ok(WorkspacesService.method.listWorkspaces, {});
  return (list.data as JsonObject[]).find(
    ({ slug: own, is_default }) => own === 'default' || is_default === 1,
  )?.id;
}
