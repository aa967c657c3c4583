// API keys over the three protocols: what a key may be made of, who may make and see it, and bad input.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Code } from '@connectrpc/connect';
import test from 'ava';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { scopesOf } from '../../src/access/scopes.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { PROGRAM } from '../support/program.ts';
import {
  type Answered,
  type Bench,
  type Case,
  invalid,
  type Json,
  type JsonObject,
  type Refusal,
  runCases,
  startBench,
  UUID,
} from './runner.ts';

const { createApiKey, listApiKeys, getApiKey, updateApiKey, deleteApiKey, rotateApiKey } =
  ApiKeysService.method;

let bench: Bench;
let dataDir: string;
/** Ids and secrets of what `before` makes: cases read them through getters. */
const made: Record<string, string> = {};

const rest = async (key: string, verb: string, path: string, body?: JsonObject): Promise<JsonObject> => {
  const response = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: verb,
    headers: { 'x-gateway-api-key': key, ...(body ? { 'content-type': 'application/json' } : {}) },
    ...(body ? { body: JSON.stringify(body) } : {}),
  });
  const json = (await response.json()) as JsonObject;
  if (response.status !== 200) throw new Error(`${verb} ${path}: ${JSON.stringify(json)}`);
  return json;
};

test.before(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-api-keys-'));
  const { stdout, stderr, status } = spawnSync(
    process.execPath,
    [PROGRAM, 'organisations', 'create', '--name', 'Other', '--owner-email', 'boss@other.test'],
    { env: { PATH: process.env.PATH, GATEWAY_DATA_DIR: dataDir }, encoding: 'utf8' },
  );
  if (status !== 0) throw new Error(stderr);
  made.foreignAdmin = stdout.trim();
  bench = await startBench({ GATEWAY_DATA_DIR: dataDir });

  const make = async (name: string, path: string, body: JsonObject): Promise<void> => {
    const { id, key } = await rest(ADMIN_KEY, 'POST', `/api-keys/${path}`, { name, ...body });
    made[name] = String(id);
    made[`${name}Key`] = String(key);
  };
  const { id: second } = await rest(ADMIN_KEY, 'POST', '/admin/workspaces', {
    name: 'Second',
    slug: 'second',
  });
  const { id: gone } = await rest(ADMIN_KEY, 'POST', '/admin/workspaces', { name: 'Gone', slug: 'gone' });
  await rest(ADMIN_KEY, 'DELETE', `/admin/workspaces/${gone}`, { name: 'Gone' });
  made.second = String(second);
  made.goneWorkspace = String(gone);
  const invite = await rest(ADMIN_KEY, 'POST', '/admin/users/invites', {
    email: 'ann@home.test',
    role: 'member',
    workspaces: [{ id: 'default', role: 'member' }],
  });
  const [, id, token] = /id=([^&]+)&token=(.+)$/.exec(String(invite.invite_link)) ?? [];
  const accepted = await rest('', 'POST', `/admin/users/invites/${id}/accept`, { token: token ?? '' });
  made.ann = String(accepted.user_id);

  const own = bench.gateway.app.tenancy.workspaceId;
  made.workspace = own;
  made.organisation = bench.gateway.app.tenancy.organisationId;
  await make('plain', 'organisation/service', { scopes: ['logs.list'] });
  // Makes organisation keys, and holds little else.
  await make('narrow', 'organisation/service', {
    scopes: ['organisation_service_api_keys.create', 'organisation_service_api_keys.rotate', 'logs.list'],
  });
  await make('lister', 'organisation/service', { scopes: ['workspace_user_api_keys.list'] });
  await make('manager', 'workspace/service', {
    workspace_id: own,
    scopes: [
      ...['create', 'read', 'update', 'delete', 'list', 'rotate'].flatMap((verb) => [
        `workspace_service_api_keys.${verb}`,
        `workspace_user_api_keys.${verb}`,
      ]),
      'completions.write',
    ],
  });
  await make('neighbour', 'workspace/service', { workspace_id: 'second', scopes: ['completions.write'] });
  await make('strong', 'workspace/service', { workspace_id: own, scopes: ['configs.create'] });
  await make('annKey', 'workspace/user', { workspace_id: own, user_id: made.ann, scopes: ['logs.list'] });
  const config = { name: 'c', config: { retry: { attempts: 1 } } };
  made.config = String((await rest(ADMIN_KEY, 'POST', '/configs', config)).slug);
  await make('deleted', 'organisation/service', { scopes: ['logs.list'] });
  await rest(ADMIN_KEY, 'DELETE', `/api-keys/${made.deleted}`);
  const foreign = await rest(made.foreignAdmin, 'POST', '/api-keys/organisation/service', {
    name: 'Theirs',
    scopes: ['logs.list'],
  });
  made.foreign = String(foreign.id);
});
test.after.always(async () => {
  await bench?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const as = (key: () => string | undefined): Record<string, string | undefined> => ({
  get 'x-gateway-api-key'() {
    return key();
  },
  authorization: undefined,
});
const ADMIN = as(() => ADMIN_KEY);
const MANAGER = as(() => made.managerKey);
const NARROW = as(() => made.narrowKey);

/** Members that are known once `before` has run. */
const late = (members: Record<string, () => Json | undefined>, rest: JsonObject = {}): JsonObject => {
  const body = { ...rest };
  for (const [name, get] of Object.entries(members))
    Object.defineProperty(body, name, { get: () => get() ?? '', enumerable: true });
  return body;
};

const ORGANISATION: JsonObject = {
  type: 'organisation',
  sub_type: 'service',
  name: 'n',
  scopes: ['logs.list'],
};
const SERVICE: JsonObject = {
  type: 'workspace',
  sub_type: 'service',
  name: 'n',
  workspace_id: 'default',
  scopes: ['completions.write'],
};
const USER = (more: JsonObject = {}): JsonObject =>
  late({ user_id: () => made.ann }, { ...SERVICE, sub_type: 'user', ...more });
const NOT_FOUND: Refusal = {
  status: 404,
  code: Code.NotFound,
  reason: 'not_found',
  message: /^there is no such API key$/,
};
const forbidden = (message: string | RegExp, param?: string): Refusal => ({
  status: 403,
  code: Code.PermissionDenied,
  reason: 'forbidden',
  message,
  ...(param === undefined ? {} : { param }),
});

const answersSecret: Case['check'] = (t, { json }) => {
  t.deepEqual(Object.keys(json), ['id', 'key', 'object']);
  t.regex(String(json.id), UUID);
  t.regex(String(json.key), /^slk_[\w-]{43}$/);
  t.is(json.object, 'api-key');
};
const names =
  (check: (names: string[]) => boolean): Case['check'] =>
  (t, { json }: Answered) => {
    const found = (json.data as JsonObject[]).map((key) => String(key.name));
    t.true(check(found), found.join(', '));
    t.is(json.object, 'list');
  };

const create = (name: string, body: JsonObject, expected: Partial<Case>): Case => ({
  name: `create: ${name}`,
  method: createApiKey,
  headers: ADMIN,
  body,
  ...expected,
});
const refusedCreate = (name: string, body: JsonObject, refused: Refusal, more: Partial<Case> = {}): Case =>
  create(name, body, { refused, ...more });
const DAY = 86_400_000;
const inDays = (days: number): string => new Date(Date.now() + days * DAY).toISOString();

const CREATES: Case[] = [
  create('an organisation key', ORGANISATION, { check: answersSecret }),
  create('a service key of a workspace by its slug', SERVICE, { check: answersSecret }),
  create('a user key on behalf of a user', USER(), { check: answersSecret }),
  create(
    'a workspace key makes one in its own workspace',
    { ...SERVICE, workspace_id: '' },
    {
      headers: MANAGER,
      check: answersSecret,
    },
  ),
  create('a workspace key makes a user key', USER(), { headers: MANAGER, check: answersSecret }),
  create(
    'everything at once',
    {
      ...SERVICE,
      description: 'd',
      rate_limits: [
        { type: 'requests', unit: 'rps', value: 5 },
        { type: 'tokens', unit: 'rpw', value: 0 },
      ],
      usage_limits: { type: 'tokens', credit_limit: 1000, alert_threshold: 900, periodic_reset_days: 3 },
      defaults: {
        metadata: { team: 'x' },
        get config_id() {
          return made.config!;
        },
        allow_config_override: false,
      },
      alert_emails: ['a@b.co'],
      expires_at: inDays(400),
      rotation_policy: { rotation_period: 'weekly', key_transition_period_ms: 1_800_000 },
    },
    { check: answersSecret },
  ),
  create(
    'what clients say once more is read over',
    { ...ORGANISATION, 'sub-type': 'service' },
    { check: answersSecret },
  ),
  create(
    'null is nothing',
    { ...ORGANISATION, expires_at: null, usage_limits: null, rate_limits: null, description: null },
    {
      over: ['rest'],
      check: answersSecret,
    },
  ),
  create(
    'with the own organisation named',
    late({ organisation_id: () => made.organisation }, ORGANISATION),
    {
      check: answersSecret,
    },
  ),
  create(
    'every scope of the kind',
    { ...SERVICE, scopes: [...scopesOf('workspace-service')] },
    {
      check: answersSecret,
    },
  ),

  refusedCreate('organisation/user', { ...ORGANISATION, sub_type: 'user' }, invalid('sub_type')),
  refusedCreate('an unknown type', { ...ORGANISATION, type: 'team' }, invalid('type')),
  refusedCreate('an unknown sub-type', { ...ORGANISATION, sub_type: 'robot' }, invalid('sub_type')),
  refusedCreate('no name', { ...ORGANISATION, name: '' }, invalid('name')),
  refusedCreate('a blank name', { ...ORGANISATION, name: '  ' }, invalid('name')),
  refusedCreate('a long name', { ...ORGANISATION, name: 'x'.repeat(101) }, invalid('name')),
  refusedCreate(
    'a long description',
    { ...ORGANISATION, description: 'x'.repeat(201) },
    invalid('description'),
  ),
  refusedCreate('no scopes', { ...ORGANISATION, scopes: [] }, invalid('scopes')),
  refusedCreate('a scope twice', { ...ORGANISATION, scopes: ['logs.list', 'logs.list'] }, invalid('scopes')),
  refusedCreate(
    'a scope that is none',
    { ...ORGANISATION, scopes: ['logs.list', 'logs.*'] },
    invalid('scopes[1]', 'is no scope', 'scope'),
  ),
  refusedCreate(
    'a scope with a typing error',
    { ...ORGANISATION, scopes: ['logs.lst'] },
    invalid('scopes[0]', 'is no scope; the nearest: logs.list', 'scope'),
  ),
  refusedCreate(
    'a scope of another kind',
    { ...ORGANISATION, scopes: ['completions.write'] },
    invalid('scopes[0]', 'cannot hold'),
  ),
  refusedCreate(
    'an organisation’s scope in a workspace',
    { ...SERVICE, scopes: ['audit_logs.list'] },
    invalid('scopes[0]'),
  ),
  refusedCreate(
    'an organisation’s scope in a user key',
    USER({ scopes: ['organisation_users.list'] }),
    invalid('scopes[0]'),
  ),
  refusedCreate('no workspace', { ...SERVICE, workspace_id: '' }, invalid('workspace_id', 'is needed')),
  refusedCreate(
    'an unknown workspace',
    { ...SERVICE, workspace_id: 'nowhere' },
    invalid('workspace_id', 'names no workspace'),
  ),
  refusedCreate(
    'an archived workspace',
    late({ workspace_id: () => made.goneWorkspace }, { ...SERVICE, workspace_id: '' }),
    invalid('workspace_id', 'names no workspace'),
  ),
  refusedCreate(
    'another workspace than the caller’s',
    { ...SERVICE, workspace_id: 'second' },
    invalid('workspace_id', 'names no workspace'),
    { headers: MANAGER },
  ),
  refusedCreate(
    'a workspace for an organisation key',
    { ...ORGANISATION, workspace_id: 'default' },
    invalid('workspace_id'),
  ),
  refusedCreate(
    'another organisation',
    { ...ORGANISATION, organisation_id: 'o' },
    invalid('organisation_id'),
  ),
  refusedCreate('a user for a service key', USER({ sub_type: 'service' }), invalid('user_id')),
  refusedCreate(
    'an unknown user',
    { ...SERVICE, sub_type: 'user', user_id: 'nobody' },
    invalid('user_id', 'names no user'),
  ),
  refusedCreate(
    'a user of another workspace',
    USER({ workspace_id: 'second' }),
    invalid('user_id', 'names no user'),
  ),
  refusedCreate(
    'an expiry in the past',
    { ...ORGANISATION, expires_at: '2020-01-01T00:00:00Z' },
    invalid('expires_at', 'future'),
  ),
  refusedCreate(
    'an expiry that is none',
    { ...ORGANISATION, expires_at: '2030-02-30T00:00:00Z' },
    invalid('expires_at'),
  ),
  refusedCreate(
    'a rate limit twice',
    { ...ORGANISATION, rate_limits: [1, 2].map((value) => ({ type: 'requests', unit: 'rpm', value })) },
    invalid('rate_limits[1]'),
  ),
  refusedCreate(
    'a negative rate',
    { ...ORGANISATION, rate_limits: [{ type: 'requests', unit: 'rpm', value: -1 }] },
    invalid('rate_limits[0].value'),
  ),
  refusedCreate(
    'an unknown unit',
    { ...ORGANISATION, rate_limits: [{ type: 'requests', unit: 'rpy', value: 1 }] },
    invalid('rate_limits[0].unit'),
    { over: ['rest'] },
  ),
  refusedCreate(
    'a budget without type',
    { ...ORGANISATION, usage_limits: { credit_limit: 3 } },
    invalid('usage_limits.type'),
  ),
  refusedCreate(
    'two resets',
    {
      ...ORGANISATION,
      usage_limits: { type: 'cost', credit_limit: 3, periodic_reset: 'weekly', periodic_reset_days: 3 },
    },
    invalid('usage_limits.periodic_reset_days'),
  ),
  refusedCreate(
    'a threshold above the budget',
    { ...ORGANISATION, usage_limits: { type: 'cost', credit_limit: 3, alert_threshold: 3 } },
    invalid('usage_limits.alert_threshold'),
  ),
  refusedCreate(
    'an address that is none',
    { ...ORGANISATION, alert_emails: ['a@b'] },
    invalid('alert_emails[0]'),
  ),
  refusedCreate(
    'an address twice',
    { ...ORGANISATION, alert_emails: ['a@b.co', 'a@b.co'] },
    invalid('alert_emails'),
  ),
  refusedCreate(
    'a config that is none',
    { ...ORGANISATION, defaults: { config_id: 'a b' } },
    invalid('defaults.config_id'),
  ),
  refusedCreate(
    'a long value of metadata',
    { ...ORGANISATION, defaults: { metadata: { a: 'x'.repeat(129) } } },
    invalid('defaults.metadata["a"]'),
  ),
  refusedCreate(
    'an empty rotation policy',
    { ...ORGANISATION, rotation_policy: {} },
    invalid('rotation_policy.rotation_period'),
  ),
  refusedCreate(
    'two periods',
    { ...ORGANISATION, rotation_policy: { rotation_period: 'weekly', rotation_period_days: 7 } },
    invalid('rotation_policy.rotation_period_days'),
  ),
  refusedCreate(
    'a period of 366 days',
    { ...ORGANISATION, rotation_policy: { rotation_period_days: 366 } },
    invalid('rotation_policy.rotation_period_days'),
  ),
  refusedCreate(
    'a short transition',
    { ...ORGANISATION, rotation_policy: { rotation_period_days: 7, key_transition_period_ms: 1_799_999 } },
    invalid('rotation_policy.key_transition_period_ms'),
  ),
  refusedCreate(
    'a transition as long as the period',
    { ...ORGANISATION, rotation_policy: { rotation_period_days: 7, key_transition_period_ms: 7 * DAY } },
    invalid('rotation_policy.key_transition_period_ms', 'less than the period'),
  ),
  refusedCreate(
    'a rotation in the past',
    { ...ORGANISATION, rotation_policy: { next_rotation_at: new Date().toISOString() } },
    invalid('rotation_policy.next_rotation_at'),
  ),
  refusedCreate(
    'an unknown member',
    { ...ORGANISATION, secret: 'mine' },
    invalid('secret', undefined, 'unknown'),
    { over: ['rest'] },
  ),
  refusedCreate('an integer for a name', { ...ORGANISATION, name: 7 }, invalid('name'), { over: ['rest'] }),

  refusedCreate(
    'scopes that the maker does not hold',
    { ...ORGANISATION, scopes: ['logs.list', 'logs.view'] },
    forbidden(/logs\.view/, 'scopes'),
    { headers: NARROW },
  ),
  refusedCreate(
    'every scope of a kind by a maker with few',
    { ...ORGANISATION, scopes: [...scopesOf('organisation-service')] },
    forbidden('may not give', 'scopes'),
    { headers: NARROW },
  ),
  refusedCreate(
    'a kind whose scope the maker lacks',
    SERVICE,
    forbidden('workspace_service_api_keys.create'),
    { headers: NARROW },
  ),
  refusedCreate(
    'an organisation key by a workspace key',
    ORGANISATION,
    forbidden('organisation_service_api_keys.create'),
    { headers: MANAGER },
  ),
  refusedCreate(
    'scopes beyond a workspace key',
    { ...SERVICE, scopes: ['configs.create'] },
    forbidden('configs.create', 'scopes'),
    { headers: MANAGER },
  ),
  refusedCreate(
    'a key without any management',
    ORGANISATION,
    forbidden('organisation_service_api_keys.create'),
    { headers: as(() => WORKSPACE_KEY) },
  ),
];

const list = (name: string, body: JsonObject, expected: Partial<Case>): Case => ({
  name: `list: ${name}`,
  method: listApiKeys,
  headers: ADMIN,
  body,
  ...expected,
});

const LISTS: Case[] = [
  list(
    'the whole organisation',
    {},
    {
      check: names(
        (all) =>
          ['plain', 'strong', 'neighbour', 'annKey'].every((one) => all.includes(one)) &&
          !all.includes('Theirs') &&
          !all.includes('deleted'),
      ),
    },
  ),
  list('one workspace', { workspace_id: 'second' }, { check: names((all) => all.join() === 'neighbour') }),
  list(
    'one kind',
    { type: 'workspace-user', exact_name: 'annKey' },
    { check: names((all) => all.join() === 'annKey') },
  ),
  list('one user', late({ user_id: () => made.ann }, { exact_name: 'annKey' }), {
    check: names((all) => all.join() === 'annKey'),
  }),
  list('a part of the name', { name: 'eighb' }, { check: names((all) => all.join() === 'neighbour') }),
  list(
    'ids, foreign and unknown ones left out',
    late({
      ids: () => [made.plain, made.foreign, made.deleted, '00000000-0000-4000-8000-000000000000'].join(','),
    }),
    { check: names((all) => all.join() === 'plain') },
  ),
  list(
    'a workspace key sees its workspace',
    { page_size: 1000 },
    {
      headers: MANAGER,
      check: names((all) => all.includes('strong') && !all.includes('plain') && !all.includes('neighbour')),
    },
  ),
  list(
    'only kinds whose list scope is held',
    { page_size: 1000 },
    {
      headers: as(() => made.listerKey),
      check: (t, { json }) =>
        t.true(
          (json.data as JsonObject[]).length > 0 &&
            (json.data as JsonObject[]).every((key) => key.type === 'workspace-user'),
        ),
    },
  ),
  list(
    'a page beyond the last',
    { current_page: 50, page_size: 100 },
    { check: names((all) => all.length === 0) },
  ),
  list(
    'a kind that may not be listed',
    { type: 'organisation-service' },
    { headers: as(() => made.listerKey), refused: forbidden('organisation-service') },
  ),
  list(
    'an organisation’s keys by a workspace key',
    { type: 'organisation-service' },
    { headers: MANAGER, refused: forbidden('organisation-service') },
  ),
  list('an unknown kind', { type: 'robot' }, { refused: invalid('type') }),
  list('a negative page', { current_page: -1 }, { refused: invalid('current_page') }),
  list('an empty page', { page_size: 0 }, { refused: invalid('page_size') }),
  list('a page too large', { page_size: 1001 }, { refused: invalid('page_size') }),
  list('a page too far', { current_page: 100_001 }, { refused: invalid('current_page') }),
  list('ids that are none', { ids: 'a,b' }, { refused: invalid('ids', 'UUIDs') }),
  list(
    'too many ids',
    { ids: Array.from({ length: 101 }, () => '00000000-0000-4000-8000-000000000000').join() },
    { refused: invalid('ids', '100') },
  ),
  list('an unknown workspace', { workspace_id: 'nowhere' }, { refused: invalid('workspace_id') }),
  list(
    'another workspace than the caller’s',
    { workspace_id: 'second' },
    { headers: MANAGER, refused: invalid('workspace_id') },
  ),
  list(
    'an unknown filter',
    {},
    { path: '/api-keys?status=active', over: ['rest'], refused: invalid('status') },
  ),
];

/** What no caller of these sees, each alike. */
const UNSEEN: readonly (readonly [string, () => string | undefined, Record<string, string | undefined>])[] = [
  ['unknown', () => '00000000-0000-4000-8000-000000000000', ADMIN],
  ['no UUID', () => 'x', ADMIN],
  ['foreign', () => made.foreign, ADMIN],
  ['deleted', () => made.deleted, ADMIN],
  ['of another workspace', () => made.neighbour, MANAGER],
  ['of the organisation', () => made.plain, MANAGER],
];

const HIDDEN: Case[] = UNSEEN.flatMap(([what, id, headers]) =>
  [getApiKey, updateApiKey, deleteApiKey, rotateApiKey].map((method) => ({
    name: `${method.name}: ${what}`,
    method,
    headers,
    body: late({ id }),
    refused: NOT_FOUND,
  })),
);

const plainId = { id: () => made.plain };
const change = (name: string, body: JsonObject, refused: Refusal, more: Partial<Case> = {}): Case => ({
  name: `update: ${name}`,
  method: updateApiKey,
  headers: ADMIN,
  body: late(plainId, body),
  refused,
  ...more,
});

const OTHERS: Case[] = [
  {
    name: 'get: the record',
    method: getApiKey,
    headers: ADMIN,
    body: late({ id: () => made.annKey }),
    check: (t, { json }) => {
      t.like(json, {
        id: made.annKey,
        name: 'annKey',
        description: null,
        type: 'workspace-user',
        organisation_id: made.organisation,
        workspace_id: made.workspace,
        user_id: made.ann,
        status: 'active',
        creation_mode: 'api',
        rate_limits: [],
        usage_limits: null,
        reset_usage: null,
        expires_at: null,
        last_reset_at: null,
        alert_emails: null,
        expiry_enforced: 0,
        allow_config_override: null,
        api_key_defaults_id: null,
        scopes: ['logs.list'],
        defaults: null,
        rotation_policy: null,
        object: 'api-key',
      });
      const secret = made.annKeyKey ?? '';
      t.is(json.key, `${secret.slice(0, 2)}*****${secret.slice(-3)}`);
      t.false(JSON.stringify(json).includes(secret));
      t.false(/hash|hint/.test(JSON.stringify(json)));
    },
  },
  {
    name: 'get: a kind whose scope the caller lacks',
    method: getApiKey,
    headers: NARROW,
    body: late(plainId),
    refused: forbidden('organisation_service_api_keys.read or'),
  },
  {
    name: 'rotate: a key that can do more than the caller',
    method: rotateApiKey,
    headers: MANAGER,
    body: late({ id: () => made.strong }),
    refused: forbidden('configs.create', 'scopes'),
  },
  {
    name: 'rotate: a short transition',
    method: rotateApiKey,
    headers: ADMIN,
    body: late(plainId, { key_transition_period_ms: 1_799_999 }),
    refused: invalid('key_transition_period_ms'),
  },
  change('a name taken away', { name: null }, invalid('name', 'must not be null'), { over: ['rest'] }),
  change('no scopes', { scopes: [] }, invalid('scopes', 'at least one'), { over: ['rest'] }),
  change('a scope twice', { scopes: ['logs.list', 'logs.list'] }, invalid('scopes')),
  change('a scope of another kind', { scopes: ['completions.write'] }, invalid('scopes[0]')),
  change('the kind', { type: 'workspace-service' }, invalid('type', undefined, 'unknown'), {
    over: ['rest'],
  }),
  change('the user', { user_id: 'u' }, invalid('user_id', undefined, 'unknown'), { over: ['rest'] }),
  change('an expiry in the past', { expires_at: '2020-01-01T00:00:00Z' }, invalid('expires_at', 'future')),
  {
    name: 'update: scopes that the caller does not hold',
    method: updateApiKey,
    headers: MANAGER,
    body: late({ id: () => made.strong }, { scopes: ['configs.create', 'configs.delete'] }),
    refused: forbidden('configs.delete', 'scopes'),
  },
  {
    name: 'update: what the key has already may stay',
    method: updateApiKey,
    headers: MANAGER,
    body: late({ id: () => made.strong }, { scopes: ['configs.create'], name: 'strong' }),
    check: (t, { json }) => t.deepEqual(json, {}),
  },
];

runCases(test, () => bench, [...CREATES, ...LISTS, ...HIDDEN, ...OTHERS]);
