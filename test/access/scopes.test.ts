// Every scope of the ecosystem is known and kept, by the kinds of keys that may hold it (admin-api facts, part 3.3).
import test from 'ava';
import { heldScopes, scopesOf } from '../../src/access/scopes.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type People, peopleOf } from '../support/people.ts';

let gateway: TestGateway;
let people: People;
test.before(async () => {
  gateway = await startGateway();
  people = peopleOf(gateway);
});
test.after.always(() => gateway?.close());

const crud = 'create read update delete list';
/** As the facts list them: resource, actions, kinds. */
const TABLE: readonly (readonly [string, string, string])[] = [
  ['agent_servers', crud, 'ASU'],
  ['agents', 'invoke', 'SU'],
  ['analytics', 'view', 'ASU'],
  ['audit_logs', 'list', 'A'],
  ['completions', 'write', 'SU'],
  ['configs', crud, 'ASU'],
  ['deployments', crud, 'A'],
  ['guardrails', crud, 'ASU'],
  ['guardrails', 'invoke', 'SU'],
  ['logs', 'export list view', 'ASU'],
  ['logs', 'write', 'SU'],
  ['mcp', 'invoke', 'SU'],
  ['mcp_servers', crud, 'ASU'],
  ['organisation_agent_integrations', 'create read update delete', 'A'],
  ['organisation_agent_integrations', 'list', 'ASU'],
  ['organisation_exclusions', 'list update', 'A'],
  ['organisation_guardrails', crud, 'A'],
  ['organisation_integrations', 'create read update delete', 'A'],
  ['organisation_integrations', 'list', 'ASU'],
  ['organisation_mcp_integrations', 'create read update delete', 'A'],
  ['organisation_mcp_integrations', 'list', 'ASU'],
  ['organisation_service_api_keys', `${crud} rotate`, 'A'],
  ['organisation_settings', 'read update', 'A'],
  ['organisation_users', crud, 'A'],
  ['plugins', 'create update list', 'A'],
  ['policies', crud, 'ASU'],
  ['prompts', `${crud} publish`, 'ASU'],
  ['prompts', 'render', 'SU'],
  ['providers', crud, 'ASU'],
  ['secret_references', crud, 'A'],
  ['virtual_keys', `${crud} duplicate copy`, 'ASU'],
  ['workspace_agent_integrations', crud, 'ASU'],
  ['workspace_integrations', crud, 'ASU'],
  ['workspace_mcp_integrations', crud, 'ASU'],
  ['workspace_service_api_keys', `${crud} rotate`, 'AS'],
  ['workspace_user_api_keys', `${crud} rotate`, 'AS'],
  ['workspace_users', crud, 'ASU'],
  ['workspaces', 'create delete', 'A'],
  ['workspaces', 'read update list', 'ASU'],
  ['agent_server_skills', crud, 'ASU'],
  ['agent_integration_skills', crud, 'ASU'],
  ['agent_server_user_access', crud, 'ASU'],
];

for (const [letter, type] of [
  ['A', 'organisation/service'],
  ['S', 'workspace/service'],
  ['U', 'workspace/user'],
] as const)
  test(`keys of ${type} hold and keep theirs`, async (t) => {
    const named = TABLE.flatMap(([resource, actions, kinds]) =>
      kinds.includes(letter) ? actions.split(' ').map((action) => `${resource}.${action}`) : [],
    );
    const place = letter === 'A' ? {} : { workspace_id: 'default' };
    const { id } = await people.ok('POST', `/api-keys/${type}`, { name: 'k', scopes: named, ...place });
    t.deepEqual((await people.ok('GET', `/api-keys/${id}`)).scopes, named);
    const foreign = TABLE.find(([, , kinds]) => !kinds.includes(letter));
    const scope = `${foreign?.[0]}.${foreign?.[1].split(' ')[0]}`;
    const refused = await people.send('POST', `/api-keys/${type}`, { name: 'k', scopes: [scope], ...place });
    t.is(refused.status, 400, scope);
  });

test('a key that held every scope of its time holds those that came later, one that was narrowed does not', (t) => {
  const all = scopesOf('organisation-service');
  const later = ['plugins.', 'agent', 'organisation_exclusions.', 'organisation_agent', 'workspace_agent'];
  const notes = [
    'secret_references.use',
    'logs.read',
    'organisations.read',
    'provider.update',
    'providers.duplicate',
  ];
  const first = all.filter(
    (scope) => !notes.includes(scope) && !later.some((prefix) => scope.startsWith(prefix)),
  );
  t.deepEqual(heldScopes('organisation-service', first), all);
  t.deepEqual(heldScopes('organisation-service', first.slice(1)), first.slice(1));
  t.deepEqual(heldScopes('workspace-service', first), first);
});

test('workspaces of one name in one organisation', async (t) => {
  const { id } = await people.ok('POST', '/admin/workspaces', { name: 'Twice' });
  const again = await people.send('POST', '/admin/workspaces', { name: 'Twice' });
  t.is(again.status, 409, JSON.stringify(again.json));
  t.is((again.json.error as { param?: string }).param, 'name');
  t.is((again.json.data as { errorCode?: string }).errorCode, 'AB07');
  t.is(
    (await people.send('POST', '/admin/workspaces', { name: 'twice' })).status,
    200,
    'letter for letter, as slugs',
  );
  const { id: other } = await people.ok('POST', '/admin/workspaces', { name: 'Once' });
  t.is((await people.send('PUT', `/admin/workspaces/${other}`, { name: 'Twice' })).status, 409);
  t.is((await people.send('PUT', `/admin/workspaces/${other}`, { name: 'Default workspace' })).status, 409);
  t.is(
    (await people.send('PUT', `/admin/workspaces/${id}`, { name: 'Twice', description: 'x' })).status,
    200,
  );
  t.is((await people.send('DELETE', `/admin/workspaces/${id}`, { name: 'Twice' })).status, 200);
  t.is(
    (await people.send('PUT', `/admin/workspaces/${other}`, { name: 'Twice' })).status,
    200,
    'it is free again',
  );
  const made = await Promise.all(
    Array.from({ length: 8 }, () => people.send('POST', '/admin/workspaces', { name: 'At once' })),
  );
  t.deepEqual(made.map(({ status }) => status).sort(), [200, ...Array(7).fill(409)]);
});
