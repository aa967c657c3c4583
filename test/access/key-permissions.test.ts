// Whose keys a caller may have and see, by the role of the person behind it: the roles table of the specification
// ("a workspace manager cannot add users with higher privileges than their own") and admin-api facts, part 3.5.

import test from 'ava';
import { Directory } from '../../src/access/directory.ts';
import { members, organisations, users, workspaces } from '../../src/access/identity-collections.ts';
import { scopesOf } from '../../src/access/scopes.ts';
import {
  checkMaker,
  checkOwner,
  keyOwner,
  listedKinds,
  ownUser,
  requireVerb,
} from '../../src/admin/api-keys/access.ts';
import type { TokenGrant, TokenRole } from '../../src/call/grant.ts';
import type { KeyKind, Principal } from '../../src/call/principal.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { applyDocument } from '../support/apply-document.ts';

const O = {
  organisationId: 'o',
  version: 1,
  status: 'active',
  createdAt: 1,
  updatedAt: 1,
  schemaVersion: 1,
} as const;
const directory = new Directory();
applyDocument(directory, organisations.name, { ...O, id: 'o', body: { handle: 'o', name: 'O' } });
for (const id of ['w', 'elsewhere'])
  applyDocument(directory, workspaces.name, { ...O, id, slug: id, body: { name: id } });
for (const [id, everywhere, place] of [
  ['owner', 'owner', undefined],
  ['orgAdmin', 'admin', undefined],
  ['admin', 'member', 'admin'],
  ['manager', 'member', 'manager'],
  ['member', 'member', 'member'],
  ['other', 'member', 'member'],
  ['stranger', 'member', undefined],
] as const) {
  const email = `${id}@o.test`;
  applyDocument(directory, users.name, {
    ...O,
    id,
    body: { email, firstName: '', lastName: '', role: everywhere },
  });
  if (place)
    applyDocument(directory, members.name, {
      ...O,
      id: `in-${id}`,
      workspaceId: 'w',
      body: { userId: id, role: place, email },
    });
}

function principal(kind: KeyKind, more: Partial<Principal> = {}): Principal {
  const workspaceId = kind === 'organisation-service' ? undefined : 'w';
  const scopes = new Set(scopesOf(kind));
  return { organisationId: 'o', workspaceId, keyId: 'k', keyName: 'k', kind, scopes, ...more };
}

const person = (userId: string): Principal => principal('workspace-user', { userId });
/** A person whom the issuer of a token knows, and the directory does not. */
const bearer = (role: TokenRole): Principal =>
  principal('workspace-user', { token: { role, user: 'sub-1' } as TokenGrant });
const CALLERS: Readonly<Record<string, Principal>> = {
  organisation: principal('organisation-service'),
  service: principal('workspace-service'),
  owner: person('owner'),
  orgAdmin: person('orgAdmin'),
  admin: person('admin'),
  manager: person('manager'),
  member: person('member'),
  'token manager': bearer('manager'),
  'token member': bearer('member'),
};

const reasonOf = (run: () => unknown): string => {
  try {
    run();
    return 'allowed';
  } catch (error) {
    return error instanceof GatewayError ? error.reason : String(error);
  }
};

/** Who may have a key in whose name. */
const NAMES: Readonly<Record<string, string>> = {
  organisation: 'owner orgAdmin admin manager member',
  service: 'owner orgAdmin admin manager member',
  owner: 'owner orgAdmin admin manager member',
  orgAdmin: 'owner orgAdmin admin manager member',
  admin: 'owner orgAdmin admin manager member',
  manager: 'manager member',
  member: 'member',
  'token manager': 'manager member',
  'token member': '',
};

for (const [name, allowed] of Object.entries(NAMES)) {
  test(`in whose name: ${name}`, (t) => {
    const caller = CALLERS[name]!;
    for (const user of ['owner', 'orgAdmin', 'admin', 'manager', 'member']) {
      const expected = allowed.split(' ').includes(user) ? 'allowed' : 'forbidden';
      t.is(
        reasonOf(() => keyOwner(directory, caller, 'w', user)),
        expected,
        user,
      );
      t.is(
        reasonOf(() => checkOwner(directory, caller, 'w', user)),
        expected,
        user,
      );
    }
    for (const nobody of ['stranger', 'unknown'])
      t.is(
        reasonOf(() => keyOwner(directory, caller, 'w', nobody)),
        'validation_failed',
        nobody,
      );
    const own = reasonOf(() => keyOwner(directory, caller, 'w', undefined));
    const unknown = caller.userId === undefined && caller.token !== undefined;
    t.is(own, unknown ? 'validation_failed' : 'allowed', 'nobody’s, where no role narrows the maker');
  });
}

test('members see their own keys alone; who is nobody here sees none', (t) => {
  const own = Object.fromEntries(
    Object.entries(CALLERS).map(([name, caller]) => [name, ownUser(directory, caller)]),
  );
  t.deepEqual(own, {
    ...Object.fromEntries(Object.keys(CALLERS).map((name) => [name, undefined])),
    member: 'member',
    'token member': '',
  });
});

test('kinds are listed by their scopes and by the role', (t) => {
  const kinds = (caller: Principal) => listedKinds(directory, caller).join(' ');
  t.is(kinds(CALLERS.organisation!), 'organisation-service workspace-service workspace-user');
  t.is(kinds(CALLERS.service!), 'workspace-service workspace-user');
  t.is(kinds(CALLERS.manager!), 'workspace-service workspace-user');
  t.is(
    kinds(principal('workspace-service', { scopes: new Set(['workspace_user_api_keys.list']) })),
    'workspace-user',
  );
  t.is(kinds(principal('organisation-service', { scopes: new Set(['logs.list']) })), '');
});

test('a verb takes the scope of the kind, and one of several will do', (t) => {
  const rotator = principal('organisation-service', {
    scopes: new Set(['workspace_service_api_keys.rotate']),
  });
  const ask = (kind: KeyKind, ...verbs: ('rotate' | 'update')[]) =>
    reasonOf(() => requireVerb(directory, rotator, kind, ...verbs));
  t.is(ask('workspace-service', 'rotate', 'update'), 'allowed');
  t.is(ask('workspace-service', 'update'), 'forbidden');
  t.is(ask('organisation-service', 'rotate', 'update'), 'forbidden');
  t.is(
    reasonOf(() => requireVerb(directory, CALLERS.member!, 'workspace-service', 'create')),
    'forbidden',
  );
  t.is(
    reasonOf(() => requireVerb(directory, CALLERS.manager!, 'workspace-service', 'create')),
    'allowed',
  );
});

test('nobody gives scopes that their own kind could hold and they do not', (t) => {
  const narrow = (kind: KeyKind, ...scopes: string[]) => principal(kind, { scopes: new Set(scopes) });
  const give = (caller: Principal, ...scopes: string[]) =>
    reasonOf(() => checkMaker(directory, caller, scopes, 'workspace-service'));
  t.is(give(narrow('organisation-service'), 'completions.write'), 'allowed', 'no organisation key holds it');
  t.is(give(narrow('organisation-service'), 'logs.list'), 'forbidden');
  t.is(give(narrow('organisation-service', 'logs.list'), 'logs.list', 'completions.write'), 'allowed');
  t.is(give(narrow('workspace-service', 'logs.list'), 'logs.list', 'completions.write'), 'forbidden');
  t.is(give(principal('workspace-service'), ...scopesOf('workspace-user')), 'allowed');
  const service = principal('workspace-service');
  const toPerson = (...scopes: string[]) =>
    reasonOf(() => checkMaker(directory, service, scopes, 'workspace-user'));
  t.is(toPerson('workspace_users.create'), 'forbidden', 'what only people do with it');
  t.is(toPerson('workspace_users.list', 'completions.write'), 'allowed');
  t.is(give(service, 'organisation_users.list'), 'forbidden');
  t.is(give(person('manager'), 'configs.create', 'prompts.publish'), 'allowed');
  t.is(give(person('member'), 'configs.create'), 'forbidden', 'what the role does not allow');
  t.is(give(person('member'), 'configs.read', 'completions.write'), 'allowed');
});
