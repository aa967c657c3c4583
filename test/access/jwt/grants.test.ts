// What a token's claims make of its bearer: workspace, user, role, scopes, defaults, limits.

import test from 'ava';
import fc from 'fast-check';
import { scopesOf } from '../../../src/access/scopes.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { applyDocument } from '../../support/apply-document.ts';
import { document, OTHER_WORKSPACE, tokenBench, WORKSPACE } from './bench.ts';
import { claimsWith, ORGANISATION, OTHER_ORGANISATION, sign, signingKey } from './issuer.ts';

const key = await signingKey('ES256');
const bench = tokenBench();
const { tokens, directory } = bench;
const everything = [...new Set([...scopesOf('organisation-service'), ...scopesOf('workspace-service')])];

test.before(() => {
  bench.configure({ jwks: { keys: [key.publicJwk as never] } });
  for (const [id, email, role] of [
    ['user-owner', 'owner@example.com', 'owner'],
    ['user-manager', 'manager@example.com', 'member'],
    ['user-nowhere', 'nowhere@example.com', 'member'],
  ])
    applyDocument(
      directory,
      'users',
      document({ id: id!, body: { email, role, firstName: '', lastName: '' } as object }),
    );
  applyDocument(
    directory,
    'users',
    document({
      id: 'user-other',
      organisationId: OTHER_ORGANISATION,
      body: { email: 'other@example.com', role: 'owner' } as object,
    }),
  );
  applyDocument(
    directory,
    'workspace_members',
    document({
      id: 'place-1',
      workspaceId: WORKSPACE,
      body: { userId: 'user-manager', role: 'manager', email: 'manager@example.com' },
    }),
  );
});
test.after.always(() => bench.close());

const principalOf = async (claims: Record<string, unknown>) =>
  tokens.principalOf(await sign(key, claimsWith(claims)));

for (const [name, claims, expected] of [
  ['a workspace by slug', {}, { workspaceId: WORKSPACE }],
  ['a workspace by id', { workspace_slug: WORKSPACE }, { workspaceId: WORKSPACE }],
  [
    'the first name of the workspace counts',
    { portkey_workspace: 'default', workspace_slug: 'x' },
    { workspaceId: WORKSPACE },
  ],
  [
    'our own name before all others',
    { gateway_workspace: 'default', portkey_workspace: 'x' },
    { workspaceId: WORKSPACE },
  ],
  [
    'the organisation under the name of its ecosystem',
    { portkey_oid: ORGANISATION, organisation_id: 'x' },
    { organisationId: ORGANISATION },
  ],
  [
    'a person who is not of the directory',
    { email_id: 'a@example.com' },
    { userId: undefined, keyName: 'a@example.com', kind: 'workspace-service' },
  ],
  [
    'a user by email, in any letters',
    { email_id: 'Manager@Example.com' },
    { userId: 'user-manager', kind: 'workspace-user' },
  ],
  ['a user by id', { sub: 'user-owner' }, { userId: 'user-owner', kind: 'workspace-user' }],
  ['email before sub', { email_id: 'owner@example.com', sub: 'user-manager' }, { userId: 'user-owner' }],
  ['uid last', { sub: undefined, uid: 'user-nowhere' }, { userId: 'user-nowhere' }],
  [
    'a user of another organisation is nobody here',
    { sub: 'user-other' },
    { userId: undefined, kind: 'workspace-service' },
  ],
  ['nobody', { sub: undefined }, { userId: undefined, keyName: 'JWT' }],
] as const) {
  test(`claims: ${name}`, async (t) => t.like(await principalOf(claims), expected));
}

for (const [name, claims, expected] of [
  [
    'words with blanks between',
    { scope: ' completions.write  logs.list\n' },
    ['completions.write', 'logs.list'],
  ],
  [
    'a list',
    { scope: undefined, scopes: ['completions.write', 'logs.list'] },
    ['completions.write', 'logs.list'],
  ],
  [
    'a list of words with blanks',
    { scope: ['completions.write logs.list', 1, null] },
    ['completions.write', 'logs.list'],
  ],
  ['prefixes', { scope: 'portkey.completions.write gateway.logs.list' }, ['completions.write', 'logs.list']],
  ['the first of both names', { scope: 'logs.list', scopes: ['completions.write'] }, ['logs.list']],
  [
    'unknown ones and those of organisations',
    { scope: 'openid profile provider.updates audit_logs.list workspaces.create logs.list' },
    ['logs.list'],
  ],
  ['none', { scope: undefined }, []],
  ['a number', { scope: 7 }, []],
] as const) {
  test(`scopes: ${name}`, async (t) => t.deepEqual([...(await principalOf(claims)).scopes], [...expected]));
}

test('scopes never exceed those of a workspace key, of a user key for users', async (t) => {
  const service = await principalOf({ scope: everything });
  t.deepEqual([...service.scopes].sort(), [...scopesOf('workspace-service')].sort());
  const user = await principalOf({ scope: everything, sub: 'user-owner' });
  t.deepEqual([...user.scopes].sort(), [...scopesOf('workspace-user')].sort());
});

test('a role in the token narrows what its scopes allow, and follows the security settings', async (t) => {
  const scope = [
    'completions.write',
    'prompts.create',
    'configs.create',
    'workspace_users.create',
    'policies.read',
  ];
  const member = await principalOf({ scope, gateway_role: 'ws-member' });
  t.deepEqual([...member.scopes], ['completions.write', 'policies.read']);
  t.is(member.kind, 'workspace-user');
  const token = await sign(key, claimsWith({ scope, role: ['engineer', 'manager', 'member'] }));
  t.deepEqual([...(await tokens.principalOf(token)).scopes], scope);
  const organisation = directory.organisation(ORGANISATION)!;
  const securitySettings = { managersWriteConfigs: false };
  applyDocument(directory, 'organisations', {
    ...organisation,
    version: 2,
    body: { ...organisation.body, securitySettings },
  });
  const narrowed = tokens.principalOf(token);
  t.false(narrowed instanceof Promise);
  t.false((await narrowed).scopes.has('configs.create'), 'at once, for a remembered token, too');
});

test('a bare role of the issuer’s own means nothing here', async (t) => {
  t.like(await principalOf({ role: 'engineer' }), { kind: 'workspace-service' });
});

test('defaults and limits ride along', async (t) => {
  const usage = {
    id: 'b1',
    type: 'cost',
    credit_limit: 2.5,
    alert_threshold: 1,
    periodic_reset: 'weekly',
    status: 'active',
  };
  const { token } = await principalOf({
    defaults: { config_id: 'pc-1', metadata: { team: 'blue', __proto__x: 'y' } },
    usage_limits: [usage],
    rate_limits: [
      { type: 'requests', unit: 'rpm', value: 10, x: 1 },
      { type: 'tokens', unit: 'rpm', value: 0 },
      { type: 'requests', unit: 'concurrent', value: 3, on_store_outage: 'local' },
    ],
  });
  const { status: _, ...kept } = usage;
  t.deepEqual(token?.defaults, { configId: 'pc-1', metadata: { team: 'blue', __proto__x: 'y' } });
  t.deepEqual(token?.usageLimits, [kept]);
  t.deepEqual(token?.rateLimits, [
    { type: 'requests', unit: 'rpm', value: 10 },
    { type: 'tokens', unit: 'rpm', value: 0 },
    { type: 'requests', unit: 'concurrent', value: 3, on_store_outage: 'local' },
  ]);
  t.like((await principalOf({ usage_limits: usage })).token, { usageLimits: [kept], rateLimits: undefined });
  t.like((await principalOf({ usage_limits: null, rate_limits: [], defaults: null })).token, {
    usageLimits: undefined,
    rateLimits: undefined,
  });
});

for (const [name, claims] of [
  ['a budget of nothing', { usage_limits: [{ type: 'cost', credit_limit: 0 }] }],
  ['a budget of another kind', { usage_limits: [{ type: 'requests', credit_limit: 5 }] }],
  ['a budget as text', { usage_limits: '5' }],
  ['an alert above the budget', { usage_limits: [{ type: 'cost', credit_limit: 5, alert_threshold: 6 }] }],
  [
    'two resets',
    { usage_limits: [{ type: 'cost', credit_limit: 5, periodic_reset: 'weekly', periodic_reset_days: 3 }] },
  ],
  ['too many budgets', { usage_limits: Array(11).fill({ type: 'cost', credit_limit: 5 }) }],
  ['half a request', { rate_limits: [{ type: 'requests', unit: 'rpm', value: 0.5 }] }],
  ['a negative rate', { rate_limits: [{ type: 'requests', unit: 'rpm', value: -1 }] }],
  ['the same rate twice', { rate_limits: Array(2).fill({ type: 'requests', unit: 'rpm', value: 1 }) }],
  ['tokens in flight', { rate_limits: [{ type: 'tokens', unit: 'concurrent', value: 1 }] }],
  [
    'an outage of no kind',
    { rate_limits: [{ type: 'requests', unit: 'rpm', value: 1, on_store_outage: 'wait' }] },
  ],
  ['an outage that is no text', { usage_limits: [{ type: 'cost', credit_limit: 5, on_store_outage: true }] }],
  ['defaults as text', { defaults: 'x' }],
  ['a config that is no text', { defaults: { config_id: 5 } }],
] as const) {
  test(`401: ${name}`, async (t) => {
    const error = await t.throwsAsync(principalOf(claims));
    t.regex(String(error?.message), new RegExp(`the token's ${Object.keys(claims)[0]}`));
  });
}

test('a workspace that goes ends its tokens, and one that is renamed keeps them', async (t) => {
  const id = 'workspace-passing';
  const made = document({ id, slug: 'passing', body: { name: 'Passing' } });
  applyDocument(directory, 'workspaces', made);
  const token = await sign(key, claimsWith({ workspace_slug: id }));
  t.is((await tokens.principalOf(token)).workspaceId, id);
  applyDocument(directory, 'workspaces', { ...made, slug: 'renamed', version: 2 });
  t.is((await tokens.principalOf(token)).workspaceId, id);
  applyDocument(directory, 'workspaces', { ...made, status: 'archived', version: 3 });
  await t.throwsAsync(async () => tokens.principalOf(token), { message: /workspace/ });
});

test('claims under names of the organisation’s own, also inside of objects', async (t) => {
  const own = tokenBench();
  own.configure({
    jwks: { keys: [key.publicJwk as never] },
    claims: {
      workspace: 'https://example.com/ws',
      user: 'person.mail',
      role: 'realm_access.roles',
      scopes: 'perms',
    },
  });
  const token = await sign(
    key,
    claimsWith({
      'https://example.com/ws': 'default',
      workspace_slug: 'ignored',
      person: { mail: 'a@example.com' },
      realm_access: { roles: ['offline', 'manager'] },
      perms: ['configs.create', 'configs.delete'],
    }),
  );
  const principal = await own.tokens.principalOf(token);
  t.like(principal, { workspaceId: WORKSPACE, keyName: 'a@example.com', kind: 'workspace-user' });
  t.deepEqual([...principal.scopes], ['configs.create', 'configs.delete']);
  await own.close();
});

test('where only known users are taken, one who is gone is refused at once', async (t) => {
  const own = tokenBench();
  own.configure({ jwks: { keys: [key.publicJwk as never] }, knownUsersOnly: true });
  const user = document({
    id: 'user-passing',
    body: { email: 'p@example.com', role: 'member', firstName: '', lastName: '' } as object,
  });
  applyDocument(own.directory, 'users', user);
  const token = await sign(key, claimsWith({ sub: 'p@example.com' }));
  t.is((await own.tokens.principalOf(token)).userId, 'user-passing');
  applyDocument(own.directory, 'users', { ...user, status: 'archived', version: 2 });
  for (const refused of [token, await sign(key), await sign(key, claimsWith({ sub: undefined }))])
    await t.throwsAsync(async () => own.tokens.principalOf(refused), { message: /user in the token/ });
  await own.close();
});

test('a prototype’s members are no claims', async (t) => {
  const own = tokenBench();
  own.configure({ jwks: { keys: [key.publicJwk as never] }, claims: { workspace: 'constructor.name' } });
  await t.throwsAsync(async () => own.tokens.principalOf(await sign(key)), { message: /no workspace/ });
  await own.close();
});

test('whatever an issuer signs, the bearer stays in the organisation’s workspaces and below a key of one', async (t) => {
  const names = [
    ...[
      'gateway_oid',
      'organisation_id',
      'gateway_workspace',
      'portkey_workspace',
      'workspace_slug',
      'scope',
    ],
    ...['scopes', 'exp', 'nbf', 'iat', 'email_id', 'sub', 'uid', 'gateway_role', 'role', 'defaults'],
    ...['usage_limits', 'rate_limits', '__proto__', 'constructor'],
  ];
  const useful = fc.constantFrom<unknown>(
    'default',
    WORKSPACE,
    ORGANISATION,
    OTHER_ORGANISATION,
    OTHER_WORKSPACE,
    'admin',
    'user-other',
    everything,
  );
  const claims = fc.dictionary(fc.constantFrom(...names), fc.oneof(useful, fc.jsonValue()), { maxKeys: 6 });
  const highest = new Set(scopesOf('workspace-service'));
  let taken = 0;
  await fc.assert(
    fc.asyncProperty(claims, async (given) => {
      try {
        const principal = await principalOf(given);
        taken++;
        t.is(principal.organisationId, ORGANISATION);
        t.is(directory.workspace(ORGANISATION, String(principal.workspaceId))?.organisationId, ORGANISATION);
        t.not(principal.kind, 'organisation-service');
        t.true([...principal.scopes].every((scope) => highest.has(scope)));
        t.not(principal.userId, 'user-other');
      } catch (error) {
        t.true(error instanceof GatewayError, String(error));
        t.true(['unauthenticated', 'forbidden'].includes((error as GatewayError).reason), String(error));
      }
    }),
    { numRuns: 500 },
  );
  t.true(taken > 50, `${taken} of 500`);
});
