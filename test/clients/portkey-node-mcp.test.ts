// The published npm SDK against the gateway: MCP integrations and servers, every method.
import test from 'ava';
import { type RunningServer, startEverything } from '../support/mcp/servers.ts';
import { peopleOf } from '../support/people.ts';
import { type Stage, startStage } from './portkey/clients.ts';
import { plain, promised, Watched } from './portkey/watched.ts';

let stage: Stage;
let watched: Watched;
let everything: RunningServer;
test.before(async () => {
  stage = await startStage();
  watched = new Watched(stage.exchanges);
  everything = await startEverything();
});
test.after.always(async () => {
  await stage?.close();
  await everything?.close();
});

const url = () => everything.url;

test.serial('MCP integrations', async (t) => {
  const { mcpIntegrations } = stage.admin;
  const made = await watched.call(t, 'mcpIntegrations.create', () =>
    mcpIntegrations.create({
      name: 'Everything',
      url: url(),
      auth_type: 'none',
      transport: 'http',
      slug: 'sdk-everything',
      description: 'd',
      configurations: { passthrough_headers: ['x-team'] },
    }),
  );
  promised(t, 'mcpIntegrations.MCPIntegrationsCreateResponse', made);
  const id = String(made.id);
  const one = await watched.call(t, 'mcpIntegrations.retrieve', () => mcpIntegrations.retrieve({ id }));
  t.like(one, { id, slug: 'sdk-everything', name: 'Everything', transport: 'http', auth_type: 'none' });
  await watched.done(t, 'mcpIntegrations.update', () => mcpIntegrations.update({ id, name: 'Renamed' }));
  const list = await watched.call(t, 'mcpIntegrations.list', () =>
    mcpIntegrations.list({ type: 'all', page_size: 10, current_page: 0 }),
  );
  t.true(list.data?.some((each) => each.id === id && each.name === 'Renamed'));
  const synced = await watched.call(t, 'mcpIntegrations.sync', () => mcpIntegrations.sync({ id }));
  t.like(plain(synced), { success: true });
  const tested = await watched.call(t, 'mcpIntegrations.test', () => mcpIntegrations.test({ id }));
  t.like(plain(tested), { success: true });
  const { workspaces, capabilities, metadata } = mcpIntegrations;
  await watched.done(t, 'workspaces.update', () =>
    workspaces.update({ id, workspaces: [{ id: stage.workspaceId, enabled: true }] }),
  );
  const shared = await watched.call(t, 'workspaces.list', () => workspaces.list({ id }));
  t.is((plain(shared).workspaces as unknown[]).length, 1);
  const off = { name: 'echo', type: 'tool' as const, enabled: false };
  const switched = await watched.call(t, 'capabilities.update', () =>
    capabilities.update({ id, capabilities: [off] }),
  );
  t.like(plain(switched), { success: true });
  const all = plain(await watched.call(t, 'capabilities.list', () => capabilities.list({ id })));
  t.true(
    (all.data as { name: string; enabled: boolean }[]).some((each) => each.name === 'echo' && !each.enabled),
  );
  const known = await watched.call(t, 'metadata.get', () => metadata.get({ id }));
  t.like(plain(known), { server_name: 'mcp-servers/everything', sync_status: 'synced' });
  await watched.done(t, 'mcpIntegrations.delete', () => mcpIntegrations.delete({ id }));
  t.deepEqual(
    [
      ...watched.missed('mcpIntegrations', mcpIntegrations),
      ...watched.missed('workspaces', workspaces),
      ...watched.missed('capabilities', capabilities),
      ...watched.missed('metadata', metadata),
    ],
    [],
  );
});

test.serial('MCP servers', async (t) => {
  const watch = new Watched(stage.exchanges);
  const { workspaceId: workspace_id } = stage;
  const integration = await stage.admin.mcpIntegrations.create({
    name: 'Everything',
    url: url(),
    auth_type: 'none',
    transport: 'http',
    workspace_id,
  });
  const { mcpServers } = stage.admin;
  const made = await watch.call(t, 'mcpServers.create', () =>
    mcpServers.create({
      name: 'Everything',
      mcp_integration_id: String(integration.id),
      workspace_id,
      slug: 'sdk-server',
    }),
  );
  promised(t, 'mcpServers.MCPServersCreateResponse', made);
  const id = String(made.id);
  const { capabilities, metadata, userAccess, connections } = mcpServers;
  const tools = [{ name: 'echo', type: 'tool' as const, schema: { type: 'object' } }];
  await watch.call(t, 'capabilities.sync', () => capabilities.sync({ id, capabilities: tools }));
  await watch.call(t, 'capabilities.update', () =>
    capabilities.update({ id, capabilities: [{ name: 'echo', type: 'tool', enabled: false }] }),
  );
  const all = plain(await watch.call(t, 'capabilities.list', () => capabilities.list({ id })));
  t.like(all, { total: 1, counts: { tools: { total: 1, enabled: 0 } } });
  await watch.call(t, 'metadata.sync', () =>
    metadata.sync({ id, server_name: 'told', title: 'Told', protocol_version: '2026-07-28' }),
  );
  t.like(plain(await watch.call(t, 'metadata.get', () => metadata.get({ id }))), { title: 'Told' });
  const list = await watch.call(t, 'mcpServers.list', () => mcpServers.list({ workspace_id }));
  t.like(list.data?.[0]?.metadata, { server_name: 'told', protocol_version: '2026-07-28' });
  t.like(await watch.call(t, 'mcpServers.retrieve', () => mcpServers.retrieve({ id })), {
    slug: 'sdk-server',
  });
  await watch.done(t, 'mcpServers.update', () => mcpServers.update({ id, name: 'Renamed' }));
  t.like(plain(await watch.call(t, 'mcpServers.test', () => mcpServers.test({ id }))), { success: true });
  const client = await watch.call(t, 'mcpServers.getClientInfo', () => mcpServers.getClientInfo({ id }));
  t.deepEqual(plain(client), { client_id: null, client_secret: null });

  const person = await peopleOf(stage.gateway).person(workspace_id, 'member');
  const own = stage.client({ apiKey: person.key }).mcpServers;
  await watch.call(t, 'userAccess.update', () =>
    userAccess.update({ id, user_access: [{ id: person.id, enabled: true }], default_user_access: 'deny' }),
  );
  const users = plain(await watch.call(t, 'userAccess.list', () => userAccess.list({ id })));
  t.is(users.default_user_access, 'deny');
  t.like(plain(await watch.call(t, 'userAccess.check', () => own.userAccess.check({ id }))), {
    has_access: true,
  });
  const tokens = { access_token: 'at-0123456789', refresh_token: 'rt' };
  await watch.call(t, 'mcpServers.setTokens', () => own.setTokens({ id, ...tokens }));
  t.like(plain(await watch.call(t, 'mcpServers.getTokens', () => own.getTokens({ id }))), tokens);
  const seen = plain(await watch.call(t, 'connections.list', () => connections.list({ id })));
  t.is((seen.data as { user_id: string }[])[0]?.user_id, person.id);
  await watch.call(t, 'connections.delete', () => connections.delete({ id, user_id: person.id }));
  await watch.call(t, 'mcpServers.deleteTokens', () => own.deleteTokens({ id }));
  await watch.done(t, 'mcpServers.delete', () => mcpServers.delete({ id }));
  t.deepEqual(
    [
      ...watch.missed('mcpServers', mcpServers),
      ...watch.missed('capabilities', capabilities),
      ...watch.missed('metadata', metadata),
      ...watch.missed('userAccess', userAccess),
      ...watch.missed('connections', connections),
    ],
    [],
  );
});
