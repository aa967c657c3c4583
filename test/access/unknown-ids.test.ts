// An id that is another tenant's, one of something archived and one of nothing at all are answered alike: same
// status, same codes, same text with the id as it was given. For every field of identity that takes an id.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type DescMessage, getOption, hasOption } from '@bufbuild/protobuf';
import test from 'ava';
import { Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { http as httpOption } from '../../gen/google/api/annotations_pb.ts';
import { createChain } from '../../src/access/audit/chain.ts';
import { createOrganisation } from '../../src/access/new-organisation.ts';
import { openStores } from '../../src/app/stores.ts';
import { readSettings } from '../../src/settings.ts';
import { type Bench, exchange, type Json, type JsonObject, startBench } from '../contract/runner.ts';
import { createDice } from './fuzz/dice.ts';
import { plantTenant, type Tenant } from './fuzz/tenant.ts';
import { thingOf } from './fuzz/words.ts';

/** One field of one method: `body` is a request in which it holds an id of the caller's own. */
interface Row {
  readonly method: string;
  /** Where the id stands, e.g. `users.0.id`. */
  readonly at: string;
  readonly body: (own: Tenant) => JsonObject;
  /** Answers for things of the caller's own that are archived may be others: they are found. */
  readonly findsArchived?: true;
}

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-test-'));
let bench: Bench;
let own: Tenant;
let other: Tenant;

test.before(async () => {
  const { documents, hasher, close } = await openStores(readSettings({ GATEWAY_DATA_DIR: dataDir }));
  const facts = { chain: createChain({ documents }), hasher, now: Date.now };
  const person = { ownerFirstName: 'O', ownerLastName: 'W' };
  const [first, second] = [
    await createOrganisation(facts, { handle: 'own', name: 'Own', ownerEmail: 'o@own.test', ...person }),
    await createOrganisation(facts, {
      handle: 'other',
      name: 'Other',
      ownerEmail: 'o@other.test',
      ...person,
    }),
  ];
  await close();
  bench = await startBench({ GATEWAY_DATA_DIR: dataDir });
  const ground = { gateway: bench.gateway.origin, provider: bench.provider.origin, dice: createDice(1) };
  own = await plantTenant(ground, first, 'own');
  other = await plantTenant(ground, second, 'other');
});

test.after.always(async () => {
  await bench?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const active = (tenant: Tenant, thing: string, at = -1): string => String(tenant.active[thing]?.at(at));
const workspace = (tenant: Tenant): string => active(tenant, 'workspace');
const user = (tenant: Tenant, at = -1): string => active(tenant, 'user', at);
/** Rows that come later find others where earlier ones took somebody away. */
const memberFor = (at: string) => (tenant: Tenant) => ({
  workspace_id: tenant.second,
  user_id: user(tenant, at === 'user_id' ? -2 : -3),
});
const newKey = { type: 'workspace', sub_type: 'service', name: 'k', scopes: ['logs.list'] };

const ROWS: readonly Row[] = [
  // First of all: what other rows ask for in vain is in the caller's own audit log.
  { method: 'ListAuditLogs', at: 'organisation_id', body: (t) => ({ organisation_id: t.organisationId }) },
  {
    method: 'ListAuditLogs',
    at: 'workspace_id',
    body: (t) => ({ workspace_id: t.second }),
    findsArchived: true,
  },
  ...['user_id', 'actor'].map((at) => ({
    method: 'ListAuditLogs',
    at,
    body: (t: Tenant) => ({ [at]: t.adminKeyId }),
    findsArchived: true as const,
  })),
  {
    method: 'ListAuditLogs',
    at: 'target_id',
    body: (t) => ({ target_id: active(t, 'key') }),
    findsArchived: true,
  },
  ...['GetWorkspace', 'ListWorkspaceMembers'].map((method) => ({
    method,
    at: 'workspace_id',
    body: (tenant: Tenant) => ({ workspace_id: workspace(tenant) }),
  })),
  { method: 'UpdateWorkspace', at: 'workspace_id', body: (t) => ({ workspace_id: workspace(t), icon: 'x' }) },
  { method: 'DeleteWorkspace', at: 'workspace_id', body: (t) => ({ workspace_id: workspace(t), name: 'x' }) },
  { method: 'CreateWorkspace', at: 'users.0', body: (t) => ({ name: 'n', users: [user(t)] }) },
  ...['workspace_id', 'users.0.id'].map((at) => ({
    method: 'AddWorkspaceMembers',
    at,
    body: (t: Tenant) => ({ workspace_id: workspace(t), users: [{ id: user(t), role: 'member' }] }),
  })),
  ...['workspace_id', 'user_id'].flatMap((at) => [
    { method: 'GetWorkspaceMember', at, body: memberFor(at) },
    {
      method: 'UpdateWorkspaceMember',
      at,
      body: (t: Tenant) => ({ ...memberFor(at)(t), role: 'manager' }),
    },
    { method: 'RemoveWorkspaceMember', at, body: memberFor(at) },
  ]),
  { method: 'GetUser', at: 'user_id', body: (t) => ({ user_id: user(t) }) },
  { method: 'UpdateUser', at: 'user_id', body: (t) => ({ user_id: user(t), role: 'admin' }) },
  { method: 'DeleteUser', at: 'user_id', body: (t) => ({ user_id: user(t) }) },
  {
    method: 'CreateUserInvite',
    at: 'workspaces.0.id',
    body: (t) => ({
      email: 'new@people.test',
      role: 'member',
      workspaces: [{ id: workspace(t), role: 'member' }],
    }),
  },
  ...['GetUserInvite', 'ResendUserInvite', 'CancelUserInvite'].map((method) => ({
    method,
    at: 'invite_id',
    body: (t: Tenant) => ({ invite_id: active(t, 'invite') }),
  })),
  {
    method: 'CreateDeployment',
    at: 'workspaces.0',
    body: (t) => ({ name: 'n', type: 'production', workspaces: [workspace(t)] }),
  },
  { method: 'GetDeployment', at: 'deployment_id', body: (t) => ({ deployment_id: active(t, 'deployment') }) },
  ...['deployment_id', 'workspaces.0'].map((at) => ({
    method: 'UpdateDeployment',
    at,
    body: (t: Tenant) => ({ deployment_id: active(t, 'deployment'), workspaces: [workspace(t)] }),
  })),
  {
    method: 'DeleteDeployment',
    at: 'deployment_id',
    body: (t) => ({ deployment_id: active(t, 'deployment') }),
  },
  { method: 'CreateApiKey', at: 'workspace_id', body: (t) => ({ ...newKey, workspace_id: workspace(t) }) },
  {
    method: 'CreateApiKey',
    at: 'user_id',
    body: (t) => ({ ...newKey, sub_type: 'user', workspace_id: t.second, user_id: user(t, -4) }),
  },
  {
    method: 'CreateApiKey',
    at: 'organisation_id',
    body: (t) => ({ ...newKey, workspace_id: t.second, organisation_id: t.organisationId }),
  },
  { method: 'ListApiKeys', at: 'workspace_id', body: (t) => ({ workspace_id: t.second }) },
  { method: 'ListApiKeys', at: 'user_id', body: (t) => ({ user_id: user(t, -4) }) },
  { method: 'ListApiKeys', at: 'ids', body: (t) => ({ ids: active(t, 'key') }) },
  { method: 'ListApiKeys', at: 'organisation_id', body: (t) => ({ organisation_id: t.organisationId }) },
  { method: 'GetApiKey', at: 'id', body: (t) => ({ id: active(t, 'key') }) },
  { method: 'UpdateApiKey', at: 'id', body: (t) => ({ id: active(t, 'key'), name: 'other' }) },
  { method: 'RotateApiKey', at: 'id', body: (t) => ({ id: active(t, 'key') }) },
  { method: 'DeleteApiKey', at: 'id', body: (t) => ({ id: active(t, 'key') }) },
];

/** Of methods that are told by other rows, or by no id. */
const TOLD_ELSEWHERE = [/^ExportAuditLogs /, /^AcceptUserInvite /];

const SERVICES =
  /\.(Organisations|Deployments|Workspaces|WorkspaceMembers|Users|UserInvites|ApiKeys|AuditLogs)Service$/;
const methods = () =>
  bench.gateway.app.rpc.methods.services.flatMap((service) =>
    SERVICES.test(service.typeName) ? service.methods : [],
  );

test('every field that takes an id has a row', (t) => {
  const told = new Set(ROWS.map(({ method, at }) => `${method} ${at.replaceAll(/\.0\b/g, '')}`));
  for (const method of methods())
    for (const path of idFields(method.input)) {
      const name = `${method.name} ${path}`;
      if (!TOLD_ELSEWHERE.some((pattern) => pattern.test(name))) t.true(told.has(name), name);
    }
});

function idFields(desc: DescMessage, depth = 3): string[] {
  return desc.fields.flatMap((field) => {
    if (field.message === undefined && thingOf(field) !== undefined) return [field.name];
    if (field.message === undefined || depth === 0 || field.fieldKind === 'map') return [];
    return idFields(field.message, depth - 1).map((path) => `${field.name}.${path}`);
  });
}

for (const row of ROWS) {
  test.serial(`${row.method}: ${row.at}`, async (t) => {
    const method = methods().find(({ name }) => name === row.method);
    if (method === undefined) return t.fail('no such method');
    const ask = async (id: string): Promise<string> => {
      const body = JSON.parse(JSON.stringify(row.body(own))) as JsonObject;
      put(body, row.at.split('.'), id);
      const headers = { 'x-gateway-api-key': own.callers[0]?.key, authorization: undefined };
      const { status, json, error } = await exchange(bench, { method, body, headers }, 'rest');
      return `${status} ${JSON.stringify([json, error])}`.replaceAll(id, '<id>');
    };
    const field = row.at.replaceAll(/\.0\b/g, '').split('.').at(-1);
    const thing = field === 'id' && row.method.includes('ApiKey') ? 'key' : thingAt(method.input, row.at);
    const nothing = await ask('9d5c2ab4-1111-4222-8333-444455556666');
    const own404 = row.findsArchived ? [] : (own.archived[thing] ?? []);
    const foreign = [...(other.active[thing] ?? []), ...(other.archived[thing] ?? [])];
    t.true(foreign.length > 0, `another tenant has a ${thing}`);
    for (const id of [...own404, ...foreign]) t.is(await ask(id), nothing, id);
    // The caller's own is answered otherwise, so that the row shows something.
    const given = row.at
      .split('.')
      .reduce<Json>((json, name) => (json as JsonObject)[name] as Json, row.body(own));
    t.not(await ask(String(given)), nothing, 'of the caller’s own');
  });
}

const told = new Set(ROWS.map(({ method }) => method));

test.serial('whatever else is found by its id or slug is found by its own tenant alone', async (t) => {
  // Slugs may be both tenants'.
  const shared = new Set(Object.values(own.all).flat());
  const ids = Object.values(other.all)
    .flatMap((all) => [...all.slice(0, 3), ...all.slice(-2)])
    .filter((id) => !shared.has(id));
  let asked = 0;
  for (const service of bench.gateway.app.rpc.methods.services)
    for (const method of service.methods) {
      if (
        told.has(method.name) ||
        !hasOption(method, httpOption) ||
        getOption(service, plane) !== Plane.CONTROL
      )
        continue;
      const { case: verb, value: path } = getOption(method, httpOption).pattern;
      const fields = [...String(path).matchAll(/\{([a-z_]+)\}/g)].map(([, name]) => String(name));
      if (fields.length !== 1 || (verb !== 'get' && verb !== 'delete')) continue;
      const headers = { 'x-gateway-api-key': own.callers[0]?.key, authorization: undefined };
      const ask = async (id: string): Promise<string> => {
        const body = { [fields[0] as string]: id };
        const { status, json, error } = await exchange(bench, { method, body, headers }, 'rest');
        return `${status} ${JSON.stringify([json, error])}`.replaceAll(id, '<id>');
      };
      const nothing = await ask('9d5c2ab4-1111-4222-8333-444455556666');
      for (const id of ids) t.is(await ask(id), nothing, `${method.name} ${id}`);
      asked++;
    }
  t.true(asked > 10);
});

function thingAt(desc: DescMessage, at: string): string {
  let message: DescMessage | undefined = desc;
  let thing = '';
  for (const name of at.split('.').filter((part) => part !== '0')) {
    const field: DescMessage['fields'][number] | undefined = message?.fields.find((one) => one.name === name);
    if (field === undefined) throw new Error(`no field ${at}`);
    thing = thingOf(field) ?? '';
    message = field.message;
  }
  return thing;
}

function put(body: JsonObject, [name, ...rest]: string[], value: string): void {
  if (name === undefined) return;
  if (rest.length === 0) body[name] = value;
  else put(body[name] as JsonObject, rest, value);
}
