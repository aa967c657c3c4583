// What a call sees of the MCP gateway's records.
import test from 'ava';
import { capabilityHash } from '../../src/access/mcp/capability-hash.ts';
import {
  type McpCatalogueBody,
  type McpIntegrationBody,
  type McpServerBody,
  mcpCatalogues,
  mcpConnections,
  mcpIntegrations,
  mcpServers,
} from '../../src/access/mcp/mcp-collections.ts';
import { type McpChange, McpReplica } from '../../src/access/mcp/mcp-replica.ts';
import type { Document } from '../../src/store/documents.ts';
import { applyDocument } from '../support/apply-document.ts';

let version = 0;

function document<B extends object>(id: string, body: B, more: Partial<Document<B>> = {}): Document<B> {
  const times = { createdAt: 1, updatedAt: 1, schemaVersion: 1 };
  return { id, organisationId: 'o', slug: id, version: ++version, status: 'active', ...times, body, ...more };
}

const integration = (
  body: Partial<McpIntegrationBody> = {},
  more: Partial<Document<McpIntegrationBody>> = {},
) =>
  document<McpIntegrationBody>(
    'i',
    {
      name: 'i',
      level: 'organisation',
      ownerId: 'k',
      url: 'https://mcp.example.com/mcp',
      transport: 'http',
      authType: 'none',
      globalAccess: { enabled: true },
      ...body,
    },
    more,
  );
const server = (body: Partial<McpServerBody> = {}, more: Partial<Document<McpServerBody>> = {}) =>
  document<McpServerBody>(
    's',
    { name: 's', integrationId: 'i', ownerId: 'k', ...body },
    { workspaceId: 'w', ...more },
  );
const catalogue = (body: Partial<McpCatalogueBody> = {}) =>
  document<McpCatalogueBody>('i', {
    integrationId: 'i',
    info: { protocolVersion: '2026-07-28' },
    syncStatus: 'synced',
    capabilities: [],
    ...body,
  });

function replicaWith(): McpReplica {
  const replica = new McpReplica();
  applyDocument(replica, mcpServers.name, server());
  applyDocument(replica, mcpIntegrations.name, integration());
  return replica;
}

test('a slug is looked for in the caller’s own workspace only', (t) => {
  const replica = replicaWith();
  t.is(replica.serverBySlug('o', 'w', 's')?.integration.body.url, 'https://mcp.example.com/mcp');
  t.is(replica.serverBySlug('o', 'x', 's'), undefined);
  t.is(replica.serverBySlug('p', 'w', 's'), undefined);
  t.is(replica.serverBySlug('o', 'w', 'i'), undefined);
  t.deepEqual(
    replica.serversOf('o', 'w').map(({ slug }) => slug),
    ['s'],
  );
  t.deepEqual(replica.serversOf('o', 'x'), []);
});

test('a server is the same value until one of its documents changes', (t) => {
  const replica = replicaWith();
  const before = replica.server('o', 's');
  t.is(replica.server('o', 's'), before);
  applyDocument(replica, mcpCatalogues.name, catalogue());
  const after = replica.server('o', 's');
  t.not(after, before);
  t.is(after?.info.protocolVersion, '2026-07-28');
});

test('an integration that is not shared any more takes its servers away', (t) => {
  const replica = replicaWith();
  applyDocument(replica, mcpIntegrations.name, integration({ globalAccess: { enabled: false } }));
  t.is(replica.serverBySlug('o', 'w', 's'), undefined);
  const access = { enabled: true, createdAt: 1, updatedAt: 1 };
  applyDocument(
    replica,
    mcpIntegrations.name,
    integration({ globalAccess: { enabled: false }, workspaces: { w: access } }),
  );
  t.truthy(replica.serverBySlug('o', 'w', 's'));
  applyDocument(replica, mcpIntegrations.name, integration({}, { status: 'archived' }));
  t.is(replica.serverBySlug('o', 'w', 's'), undefined);
});

test("the integration's switch wins over the server's, and a resource is off under either name", (t) => {
  const replica = replicaWith();
  const off = { enabled: false, updatedAt: 1 };
  const on = { enabled: true, updatedAt: 1 };
  applyDocument(
    replica,
    mcpIntegrations.name,
    integration({
      switches: [
        { type: 'tool', name: 'a', ...off },
        { type: 'tool', name: 'b', ...on },
        { type: 'resource', name: 'notes', ...off },
      ],
    }),
  );
  applyDocument(
    replica,
    mcpServers.name,
    server({
      switches: [
        { type: 'tool', name: 'a', ...on },
        { type: 'tool', name: 'b', ...off },
      ],
    }),
  );
  const described = { uri: 'file:///notes.txt' };
  const hash = capabilityHash('resource', 'notes', described);
  const times = { createdAt: 1, updatedAt: 1 };
  applyDocument(
    replica,
    mcpCatalogues.name,
    catalogue({
      capabilities: [{ type: 'resource', name: 'notes', described, hash, pinned: hash, ...times }],
    }),
  );
  const found = replica.server('o', 's');
  t.deepEqual(
    ['a', 'b', 'c'].map((name) => found?.isEnabled('tool', name)),
    [false, false, true],
  );
  t.true(found?.isEnabled('prompt', 'a'), 'a switch is of one type');
  t.false(found?.isEnabled('resource', 'notes'));
  t.false(found?.isEnabled('resource', 'file:///notes.txt'), 'its URI is known from the catalogue');
  t.false(found?.isEnabled('resource', 'file:///other', 'notes'), 'or given with it');
});

test('users who are not named are treated by the default; service keys are no users', (t) => {
  const replica = replicaWith();
  applyDocument(
    replica,
    mcpServers.name,
    server({ defaultUserAccess: 'deny', userAccess: [{ userId: 'anna', enabled: true }] }),
  );
  const found = replica.server('o', 's');
  t.true(found?.allowsUser('anna'));
  t.false(found?.allowsUser('bert'));
  t.true(found?.allowsUser(undefined));
});

test('guardrails of integration and server add up, for all tools and for one; the nearest price counts', (t) => {
  const replica = replicaWith();
  applyDocument(
    replica,
    mcpIntegrations.name,
    integration({
      rules: {
        guardrails: { input: ['g1'], tools: [{ tool: 'echo', output: ['g2'] }] },
        toolPrices: [
          { tool: '*', price: 0.001 },
          { tool: 'echo', price: 0.01 },
        ],
      },
    }),
  );
  applyDocument(
    replica,
    mcpServers.name,
    server({ rules: { guardrails: { input: ['g1', 'g3'] }, toolPrices: [{ tool: 'add', price: 0 }] } }),
  );
  const found = replica.server('o', 's');
  t.deepEqual(found?.guardrailsOf('echo'), { input: ['g1', 'g3'], output: ['g2'] });
  t.deepEqual(found?.guardrailsOf('add'), { input: ['g1', 'g3'], output: [] });
  t.deepEqual(
    ['echo', 'add', 'other'].map((tool) => found?.priceOf(tool)),
    [0.01, 0, 0.001],
  );
});

test('a connection is found by server and user, and its end is told', (t) => {
  const replica = replicaWith();
  const told: McpChange[] = [];
  const stop = replica.onChanged((change) => told.push(change));
  const body = { serverId: 's', userId: 'anna', tokens: { accessToken: 'at' } };
  applyDocument(replica, mcpConnections.name, document('c', body));
  t.is(replica.connectionOf('o', 's', 'anna')?.body.tokens.accessToken, 'at');
  t.is(replica.connectionOf('o', 's', 'bert'), undefined);
  applyDocument(replica, mcpConnections.name, document('c', body, { status: 'archived' }));
  t.is(replica.connectionOf('o', 's', 'anna'), undefined);
  t.deepEqual(
    told.map((change) => change.kind === 'connection' && change.now === undefined),
    [false, true],
  );
  stop();
  applyDocument(replica, mcpServers.name, server());
  t.is(told.length, 2);
});

test('a hash does not follow the order of members, and does follow what a model reads', (t) => {
  const one = capabilityHash('tool', 'echo', { description: 'd', inputSchema: { type: 'object', a: 1 } });
  t.is(one, capabilityHash('tool', 'echo', { inputSchema: { a: 1, type: 'object' }, description: 'd' }));
  t.is(
    one,
    capabilityHash('tool', 'echo', {
      name: 'echo',
      description: 'd',
      inputSchema: { type: 'object', a: 1 },
      _meta: { x: 1 },
    }),
  );
  t.not(one, capabilityHash('tool', 'echo', { description: 'D', inputSchema: { type: 'object', a: 1 } }));
});
