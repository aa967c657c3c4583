// Nobody makes more of themselves, or touches those above: the ways that were tried.
import test, { type ExecutionContext } from 'ava';
import { KeyKind } from '../../gen/gateway/options/v2/options_pb.ts';
import { PEOPLE_SCOPES, scopesOf } from '../../src/access/scopes.ts';
import { annotationsOf } from '../../src/rest/routes.ts';
import type { Answer, Json } from '../support/front-door.ts';
import * as call from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { type SigningKey, sign, signingKey } from './jwt/issuer.ts';

let gateway: TestGateway;
let issuer: SigningKey;
let organisationId: string;
let count = 0;

test.before(async () => {
  gateway = await startGateway();
  issuer = await signingKey('ES256');
  await ok('PUT', '/admin/organisation/jwt', {
    jwks: { keys: [issuer.publicJwk] },
    any_issuer_and_audience: true,
  });
  organisationId = String((await ok('GET', '/admin/organisation')).id);
});
test.after.always(() => gateway?.close());

const send = (verb: string, path: string, body?: Json, key?: string) =>
  call.send(gateway, verb, path, { ...(body && { body }), ...(key === undefined ? {} : { key }) });
const ok = (verb: string, path: string, body?: Json, key?: string) =>
  call.ok(gateway, verb, path, { ...(body && { body }), ...(key === undefined ? {} : { key }) });

/** A workspace with a name of its own. */
async function workspace(): Promise<string> {
  return String((await ok('POST', '/admin/workspaces', { name: `Place ${++count}` })).id);
}

/** Somebody who came by an invitation, with a key of theirs when there is a place. */
async function person(
  role: string,
  place?: string,
  placeRole = 'member',
): Promise<{ id: string; key: string; email: string }> {
  const email = `p${++count}@people.test`;
  const workspaces = place === undefined ? [] : [{ id: place, role: placeRole }];
  const { invite_link: link } = await ok('POST', '/admin/users/invites', { email, role, workspaces });
  const { path, token } = call.invitation(link);
  const { user_id: id } = await ok('POST', `${path}/accept`, { token }, '-');
  if (place === undefined) return { id: String(id), key: '', email };
  return { id: String(id), key: await keyOf(String(id), place), email };
}

async function keyOf(user_id: string, workspace_id: string): Promise<string> {
  const body = { name: 'k', user_id, workspace_id, scopes: scopesOf('workspace-user') };
  return String((await ok('POST', '/api-keys/workspace/user', body)).key);
}

/** A token of somebody whom only the issuer knows. */
function token(role: string, workspace_slug: string): Promise<string> {
  return sign(issuer, {
    organisation_id: organisationId,
    workspace_slug,
    gateway_role: role,
    sub: 'stranger',
    scope: scopesOf('workspace-user').join(' '),
    exp: Math.floor(Date.now() / 1000) + 600,
  });
}

const refused = (t: ExecutionContext, { status, json }: Answer) => t.is(status, 403, JSON.stringify(json));

test('a token of a manager grants no role above manager, and touches no admin', async (t) => {
  const place = await workspace();
  const admin = await person('member', place, 'admin');
  const plain = await person('member');
  const key = await token('manager', place);
  const members = `/admin/workspaces/${place}/users`;
  refused(t, await send('POST', members, { users: [{ id: plain.id, role: 'admin' }] }, key));
  refused(t, await send('PUT', `${members}/${admin.id}`, { role: 'member' }, key));
  refused(t, await send('DELETE', `${members}/${admin.id}`, undefined, key));
  await ok('POST', members, { users: [{ id: plain.id, role: 'manager' }] }, key);
});

test('a manager touches no owner or admin of the organisation, whatever their place says', async (t) => {
  const place = await workspace();
  const manager = await person('member', place, 'manager');
  const above = await person('admin', place, 'member');
  const member = `/admin/workspaces/${place}/users/${above.id}`;
  refused(t, await send('DELETE', member, undefined, manager.key));
  refused(t, await send('PUT', member, { role: 'manager' }, manager.key));
  t.is(
    (await send('GET', `/admin/workspaces/${place}`, undefined, above.key)).status,
    200,
    'their key lives',
  );
});

for (const role of ['manager', 'admin']) {
  test(`a workspace ${role} changes no security settings`, async (t) => {
    const place = await workspace();
    const { key } = await person('member', place, role);
    const path = `/admin/workspaces/${place}`;
    const security_settings = { membersWriteApiKeys: true };
    refused(t, await send('PUT', path, { security_settings }, key));
    refused(t, await send('PUT', path, { security_settings: null }, key));
    refused(t, await send('PUT', path, { security_settings }, await token(role, place)));
    await ok('PUT', path, { description: 'changed' }, key);
    const admin = await person('admin', place);
    await ok('PUT', path, { security_settings }, admin.key);
  });
}

test('an invitation gives no scopes that its maker does not have', async (t) => {
  const place = await workspace();
  const made = async (...scopes: string[]): Promise<string> =>
    String((await ok('POST', '/api-keys/organisation/service', { name: 'k', scopes })).key);
  const invite = (key: string, ...scopes: string[]): Promise<Answer> => {
    const workspaces = [{ id: place, role: 'admin' }];
    const body = { email: `p${++count}@people.test`, role: 'admin', workspaces };
    return send('POST', '/admin/users/invites', { ...body, workspace_api_key_details: { scopes } }, key);
  };
  refused(t, await invite(await made('organisation_users.create'), 'workspaces.update'));
  const keys = ['organisation_users.create', 'workspace_user_api_keys.create'];
  refused(t, await invite(await made(...keys), 'workspaces.update'));
  const full = await made(...keys, 'workspaces.update');
  t.is((await invite(full, 'workspaces.update', 'completions.write')).status, 200);
});

test('who loses a role loses what their keys could do with it, at once', async (t) => {
  const place = await workspace();
  const { id, key } = await person('member', place, 'manager');
  const path = `/admin/workspaces/${place}`;
  await ok('PUT', path, { description: 'a' }, key);
  await ok('PUT', `${path}/users/${id}`, { role: 'member' });
  refused(t, await send('PUT', path, { description: 'b' }, key));
  const admin = await person('admin', place);
  await ok('PUT', path, { description: 'c' }, admin.key);
  await ok('PUT', `/admin/users/${admin.id}`, { role: 'member' });
  refused(t, await send('PUT', path, { description: 'd' }, admin.key));
  await ok('DELETE', `/admin/users/${id}`);
  t.is((await send('GET', path, undefined, key)).status, 401, 'the keys of who is gone are gone');
});

test('no slug has the form of an id', async (t) => {
  const slug = await workspace();
  const inAdmin = await send('POST', '/admin/workspaces', { name: 'Twin', slug });
  t.is(inAdmin.status, 400);
  t.is((inAdmin.json.error as Json).param, 'slug');
  const deployment = { name: 'Twin', type: 'production', slug };
  t.is((await send('POST', '/deployments', deployment)).status, 400);
});

test('what only people may do, no service does by way of a user key', async (t) => {
  const place = await workspace();
  const service = await ok('POST', '/api-keys/workspace/service', {
    name: 's',
    workspace_id: place,
    scopes: scopesOf('workspace-service'),
  });
  const key = String(service.key);
  const plain = await person('member');
  const members = `/admin/workspaces/${place}/users`;
  const grant = { users: [{ id: plain.id, role: 'admin' }] };
  refused(t, await send('POST', members, grant, key));
  const scopes = ['workspace_users.create', 'workspaces.update', 'logs.list'];
  // Nobody's: there is no person whose role would allow it.
  const nobodys = await ok('POST', '/api-keys/workspace/user', { name: 'n', workspace_id: place, scopes });
  refused(t, await send('POST', members, grant, String(nobodys.key)));
  refused(t, await send('PUT', `/admin/workspaces/${place}`, { description: 'x' }, String(nobodys.key)));
  t.is((await send('GET', '/logs', undefined, String(nobodys.key))).status, 200);
  // Somebody's: the service would hold the secret.
  const admin = await person('member', place, 'admin');
  const body = { name: 'n', user_id: admin.id, scopes };
  refused(t, await send('POST', '/api-keys/workspace/user', body, key));
  refused(t, await send('POST', '/api-keys/workspace/user', { ...body, user_id: undefined }, key));
  await ok('POST', '/api-keys/workspace/user', { ...body, scopes: ['logs.list'] }, key);
});

test('the scopes of what only people do are those of the operations that take no service', (t) => {
  const services = KeyKind.WORKSPACE_SERVICE;
  const scopes = new Set<string>();
  for (const { methods } of gateway.app.rpc.methods.services)
    for (const { access } of methods.map(annotationsOf))
      if (access.kinds.includes(KeyKind.WORKSPACE_USER) && !access.kinds.includes(services))
        for (const scope of access.scopes) scopes.add(scope);
  t.deepEqual([...PEOPLE_SCOPES].sort(), [...scopes].sort());
});

test('a token of a manager makes no key for somebody above, and none without a person', async (t) => {
  const place = await workspace();
  const admin = await person('member', place, 'admin');
  const key = await token('manager', place);
  const body = { name: 'n', scopes: ['workspace_users.create'] };
  refused(t, await send('POST', '/api-keys/workspace/user', { ...body, user_id: admin.id }, key));
  t.is((await send('POST', '/api-keys/workspace/user', body, key)).status, 400);
});

test('a token of a member sees nobody’s keys', async (t) => {
  const place = await workspace();
  await person('member', place);
  t.is((await ok('GET', '/api-keys', undefined, await token('member', place))).total, 0);
});
