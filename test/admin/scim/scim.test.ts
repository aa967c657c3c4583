// SCIM 2.0 over HTTP: as RFC 7644 has it, and as Entra and Okta call it.
import test from 'ava';
import { eventually } from '../../support/eventually.ts';
import { invitation, type Json, ok, send } from '../../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../../support/gateway.ts';
import { newScimToken, ScimClient, type ScimJson } from '../../support/scim-client.ts';

const USER = 'urn:ietf:params:scim:schemas:core:2.0:User';
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const NOBODY = '00000000-0000-4000-8000-000000000000';

let gateway: TestGateway;
let scim: ScimClient;
test.before(async () => {
  gateway = await startGateway();
  scim = new ScimClient(gateway, (await newScimToken(gateway)).token);
});
test.after.always(() => gateway?.close());

let count = 0;
const fresh = (): string => `person-${++count}@scim.test`;
const made = async (given: ScimJson = {}): Promise<ScimJson> =>
  scim.ok('POST', '/Users', { schemas: [USER], userName: fresh(), ...given }, 201);
const found = async (filter: string, path = '/Users'): Promise<ScimJson[]> =>
  (await scim.ok('GET', `${path}?filter=${encodeURIComponent(filter)}`)).Resources as ScimJson[];
const names = (list: readonly ScimJson[]) => list.map(({ userName }) => userName);

/** A person with a key in the default workspace, by invitation. */
async function invited(email: string): Promise<{ readonly key: string; readonly userId: string }> {
  const { invite_link: link } = await ok(gateway, 'POST', '/admin/users/invites', {
    body: {
      email,
      role: 'member',
      workspaces: [{ id: 'default', role: 'member' }],
      workspace_api_key_details: { scopes: ['logs.list', 'workspaces.read'] },
    },
  });
  const { path, token } = invitation(link);
  const accepted = await ok(gateway, 'POST', `${path}/accept`, { body: { token } });
  return { key: String((accepted.api_keys as Json[])[0]?.key), userId: String(accepted.user_id) };
}

test('a user is made, read, replaced, changed and taken away', async (t) => {
  const userName = fresh();
  const body = {
    schemas: [USER, ENTERPRISE],
    userName,
    externalId: 'ext-1',
    name: { givenName: 'Ada', familyName: 'Lovelace' },
    emails: [{ value: userName.toUpperCase(), type: 'work', primary: true }],
    [ENTERPRISE]: { department: 'Engines', manager: { value: 'm1' } },
    unknownAttribute: 'left out',
  };
  const reply = await scim.send('POST', '/Users', body);
  t.is(reply.status, 201);
  const id = String(reply.json.id);
  t.is(reply.headers.get('location'), `${gateway.origin}/scim/v2/Users/${id}`);
  t.is(reply.headers.get('etag'), 'W/"1"');
  t.like(reply.json, { userName, externalId: 'ext-1', active: true, schemas: [USER, ENTERPRISE] });
  t.false('unknownAttribute' in reply.json);
  t.like(await ok(gateway, 'GET', `/admin/users/${id}`), {
    email: userName,
    first_name: 'Ada',
    role: 'member',
  });

  const same = await scim.send('GET', `/Users/${id}`, undefined, { 'if-none-match': 'W/"1"' });
  t.is(same.status, 304);
  const stale = await scim.send('PUT', `/Users/${id}`, body, { 'if-match': 'W/"9"' });
  t.is(stale.status, 412);
  const replaced = await scim.ok('PUT', `/Users/${id}`, { userName, name: { givenName: 'Augusta' } });
  t.like(replaced, { name: { givenName: 'Augusta' }, active: true });
  t.false('externalId' in replaced || ENTERPRISE in replaced);

  const only = await scim.ok('GET', `/Users/${id}?attributes=name.givenName`);
  t.deepEqual(Object.keys(only).sort(), ['id', 'name', 'schemas']);
  t.false('name' in (await scim.ok('GET', `/Users/${id}?excludedAttributes=name,emails`)));

  t.is((await scim.send('DELETE', `/Users/${id}`)).status, 204);
  t.is((await scim.send('GET', `/Users/${id}`)).status, 404);
  t.is((await scim.send('DELETE', `/Users/${id}`)).status, 404);
});

test('a name or an address that is taken is 409 uniqueness', async (t) => {
  const user = await made();
  const again = await scim.send('POST', '/Users', { userName: String(user.userName).toUpperCase() });
  t.is(again.status, 409);
  t.like(again.json, { scimType: 'uniqueness', status: '409' });
  const emails = [{ value: user.userName }];
  t.is((await scim.send('POST', '/Users', { userName: fresh(), emails })).status, 409);
  const { userId } = await invited(fresh());
  const [byHand] = await found(`id eq "${userId}"`);
  t.is((await scim.send('POST', '/Users', { userName: byHand?.userName })).status, 409);
  t.deepEqual(names(await found(`userName eq "${byHand?.userName}"`)), [byHand?.userName]);
  await scim.ok('POST', '/Groups', { displayName: 'Taken' }, 201);
  t.like((await scim.send('POST', '/Groups', { displayName: 'TAKEN' })).json, { scimType: 'uniqueness' });
});

test('filters', async (t) => {
  const title = `Engineer ${fresh()}`;
  const a = await made({ title, displayName: 'Alpha', emails: [{ value: fresh(), type: 'work' }] });
  const b = await made({ title, displayName: 'Beta', [ENTERPRISE]: { department: 'D1' } });
  const c = await made({ title, displayName: 'Gamma', active: false, externalId: 'C-1' });
  const all = [a, b, c].map(({ userName }) => userName);
  const mine = async (filter: string) => names(await found(`title eq "${title}" and (${filter})`));
  t.deepEqual((await mine('active pr')).toSorted(), all.toSorted());
  t.deepEqual(await mine('displayName eq "ALPHA"'), [a.userName]);
  t.deepEqual(await mine('displayName ne "Alpha" and not (displayName sw "g")'), [b.userName]);
  t.deepEqual(await mine('displayName co "et" or displayName ew "MMA"'), [b.userName, c.userName]);
  t.deepEqual(await mine('displayName gt "alpha" and displayName lt "gamma"'), [b.userName]);
  t.deepEqual(await mine('displayName ge "beta" and displayName le "beta"'), [b.userName]);
  t.deepEqual(await mine('active eq false'), [c.userName]);
  t.deepEqual(await mine('active eq "True" and emails pr'), [a.userName]);
  t.deepEqual(await mine('emails[type eq "work" and value co "@scim"]'), [a.userName]);
  t.deepEqual(await mine(`emails.value ew "SCIM.TEST"`), [a.userName]);
  t.deepEqual(await mine(`${ENTERPRISE}:department eq "d1"`), [b.userName]);
  t.deepEqual(await mine(`${USER}:displayName eq "beta"`), [b.userName]);
  t.deepEqual(await mine('externalId eq "c-1"'), [], 'externalId counts letter case');
  t.deepEqual(await mine('externalId eq "C-1"'), [c.userName]);
  t.deepEqual((await mine('meta.created gt "2020-01-01T00:00:00Z"')).length, 3);
  t.deepEqual((await mine('title eq null')).length, 0);
  const search = await scim.ok('POST', '/Users/.search', { filter: `title eq "${title}"`, count: 2 });
  t.like(search, { totalResults: 3, itemsPerPage: 2 });
  t.like(await scim.ok('POST', '/.search', { filter: `title eq "${title}"` }), { totalResults: 3 });
});

test('bad filters, paths and pages are 400 with a type', async (t) => {
  const deep = `${'('.repeat(30)}userName pr${')'.repeat(30)}`;
  const long = `userName eq "${'x'.repeat(5000)}"`;
  const many = Array.from({ length: 101 }, () => 'userName pr').join(' or ');
  for (const filter of [
    'userName',
    'userName eq',
    'userName xx "a"',
    '(userName pr',
    'nothing eq "a"',
    'active gt true',
    'userName eq "a" userName',
    '"a" eq userName',
    'userName eq \u0000',
    deep,
    long,
    many,
  ]) {
    const { status, json } = await scim.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    t.is(status, 400, filter.slice(0, 60));
    t.is(json.scimType, 'invalidFilter');
  }
  t.is((await scim.send('GET', '/Users?sortBy=nothing')).json.scimType, 'invalidPath');
  t.is((await scim.send('GET', '/Users?count=x')).json.scimType, 'invalidValue');
  t.is((await scim.send('GET', '/Users?sortBy=userName&sortOrder=up')).status, 400);
  t.is((await scim.send('GET', '/Users?attributes=id&excludedAttributes=name')).status, 400);
  t.is((await scim.send('GET', '/Users/%zz')).status, 400);
  t.is((await scim.send('POST', '/Users', '{')).json.scimType, 'invalidSyntax');
  t.is((await scim.send('POST', '/Users', '[]')).json.scimType, 'invalidSyntax');
  t.is((await scim.send('POST', '/Users', { userName: 7 })).status, 201, 'a number is read as a text');
  t.is((await scim.send('POST', '/Users', { userName: {} })).json.scimType, 'invalidValue');
  t.is((await scim.send('POST', '/Users', { userName: fresh(), active: 'perhaps' })).status, 400);
  for (const value of ['a@scim.test\r\nBcc: b@scim.test', 'a\u0000@scim.test']) {
    t.is((await scim.send('POST', '/Users', { userName: value })).json.scimType, 'invalidValue');
    const emails = [{ value }];
    t.is((await scim.send('POST', '/Users', { userName: fresh(), emails })).json.scimType, 'invalidValue');
  }
  t.is((await scim.send('POST', '/Users', { userName: fresh(), title: 'x'.repeat(5000) })).status, 400);
  t.is(
    (await scim.send('POST', '/Users', { userName: fresh() }, { 'content-type': 'text/plain' })).status,
    415,
  );
  t.is((await scim.send('POST', '/Users', `{"userName":"${'x'.repeat(2_200_000)}"}`)).status, 413);
  t.is((await scim.send('PUT', '/Users', {})).status, 405);
  t.is((await scim.send('GET', '/Bulk')).status, 501);
  t.is((await scim.send('GET', '/Things')).status, 404);
  t.is((await scim.send('GET', '/Schemas?filter=id%20pr')).status, 403);
});

test('pages and orders', async (t) => {
  const title = `Pager ${fresh()}`;
  for (const displayName of ['b', 'C', 'a', 'd']) await made({ title, displayName });
  await made({ title });
  const page = async (rest: string) => {
    const list = await scim.ok('GET', `/Users?filter=${encodeURIComponent(`title eq "${title}"`)}&${rest}`);
    return [list.totalResults, (list.Resources as ScimJson[]).map(({ displayName }) => displayName)];
  };
  t.deepEqual(await page('sortBy=displayName'), [5, ['a', 'b', 'C', 'd', undefined]]);
  t.deepEqual(await page('sortBy=displayName&sortOrder=descending&count=2'), [5, [undefined, 'd']]);
  t.deepEqual(await page('sortBy=displayName&startIndex=2&count=2'), [5, ['b', 'C']]);
  t.deepEqual(await page('startIndex=4&count=9'), [5, ['d', undefined]]);
  t.deepEqual(await page('startIndex=-3&count=0'), [5, []]);
  const all = await scim.ok('GET', '/Users?startIndex=2&count=3');
  t.is((all.Resources as ScimJson[]).length, 3);
  t.true(Number(all.totalResults) >= 5);
});

test('PATCH as Entra sends it', async (t) => {
  const user = await made({ name: { givenName: 'A' }, emails: [{ value: fresh(), type: 'work' }] });
  const path = `/Users/${user.id}`;
  const mail = fresh();
  const { status, json } = await scim.patch(
    path,
    { op: 'Replace', path: 'emails[type eq "work"].value', value: mail },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555' },
    { op: 'Replace', path: 'name.familyName', value: 'B' },
    { op: 'Add', path: `${ENTERPRISE}:department`, value: 'D2' },
    {
      op: 'Replace',
      value: { 'name.givenName': 'G', displayName: 'G B', [`${ENTERPRISE}:costCenter`]: '9' },
    },
    { op: 'Replace', path: 'active', value: 'False' },
  );
  t.is(status, 200, JSON.stringify(json));
  t.like(json, {
    active: false,
    displayName: 'G B',
    name: { givenName: 'G', familyName: 'B' },
    emails: [{ value: mail, type: 'work' }],
    phoneNumbers: [{ value: '+1 555', type: 'mobile' }],
    [ENTERPRISE]: { department: 'D2', costCenter: '9' },
  });
  t.is((await scim.patch(path, { op: 'replace', value: { active: 'True' } })).json.active, true);
  const primary = { op: 'add', path: 'emails', value: [{ value: fresh(), primary: true }] };
  t.like((await scim.patch(path, primary)).json, { emails: [{ value: mail }, { primary: true }] });
  t.like(
    (await scim.patch(path, { op: 'add', path: 'emails', value: { value: fresh(), primary: true } })).json,
    {
      emails: [{ value: mail }, { primary: false }, { primary: true }],
    },
  );
  const wrong: readonly (readonly [ScimJson, string])[] = [
    [{ op: 'replace', path: 'emails[type eq "home"].value', value: 'x' }, 'noTarget'],
    [{ op: 'remove' }, 'noTarget'],
    [{ op: 'remove', path: 'userName' }, 'invalidValue'],
    [{ op: 'replace', path: 'id', value: 'x' }, 'mutability'],
    [{ op: 'replace', path: 'groups', value: [] }, 'mutability'],
    [{ op: 'add', path: 'nothing', value: 1 }, 'invalidPath'],
    [{ op: 'add', path: 'emails[type eq', value: 1 }, 'invalidPath'],
    [{ op: 'move', path: 'title' }, 'invalidSyntax'],
    [{ op: 'add', path: 'title' }, 'invalidValue'],
    [{ op: 'add', value: 'x' }, 'invalidValue'],
  ];
  for (const [operation, scimType] of wrong) {
    const answer = await scim.patch(path, operation);
    t.is(answer.status, 400, JSON.stringify(operation));
    t.is(answer.json.scimType, scimType, JSON.stringify(operation));
  }
  t.is((await scim.send('PATCH', path, {})).json.scimType, 'invalidSyntax');
});

test('groups: members by PATCH and PUT, as Entra and Okta do it', async (t) => {
  const [a, b, c] = [await made(), await made(), await made()];
  const members = async (id: unknown) =>
    (((await scim.ok('GET', `/Groups/${id}`)).members ?? []) as ScimJson[]).map(({ value }) => value);
  const group = await scim.ok(
    'POST',
    '/Groups',
    { displayName: `G ${fresh()}`, members: [{ value: a.id }] },
    201,
  );
  const path = `/Groups/${group.id}`;
  await scim.patch(path, {
    op: 'add',
    path: 'members',
    value: [{ value: b.id }, { value: c.id }, { value: a.id }],
  });
  t.deepEqual(await members(group.id), [a.id, b.id, c.id]);
  await scim.patch(path, { op: 'Remove', path: 'members', value: [{ value: a.id }] });
  await scim.patch(path, { op: 'remove', path: `members[value eq "${b.id}"]` });
  t.deepEqual(await members(group.id), [c.id]);
  const okta = { op: 'replace', value: { id: group.id, displayName: `Renamed ${fresh()}` } };
  t.is((await scim.patch(path, okta)).json.displayName, okta.value.displayName);
  await scim.ok('PUT', path, { displayName: group.displayName, members: [{ value: a.id }, { value: b.id }] });
  t.deepEqual(await members(group.id), [a.id, b.id]);
  t.like(await scim.ok('GET', `/Users/${a.id}`), { groups: [{ value: group.id, type: 'direct' }] });
  t.deepEqual((await found(`members.value eq "${b.id}"`, '/Groups')).length, 1);
  t.deepEqual((await found(`groups.value eq "${group.id}"`)).length, 2);
  await scim.send('DELETE', `/Users/${a.id}`);
  t.deepEqual(await members(group.id), [b.id], 'who leaves the organisation leaves its groups');
  t.like(
    (await scim.patch(path, { op: 'add', path: 'members', value: [{ value: c.id, type: 'Group' }] })).json,
    {
      scimType: 'invalidValue',
    },
  );
  t.is((await scim.send('DELETE', path)).status, 204);
  t.is((await scim.send('GET', path)).status, 404);
});

test('a user who is made inactive has no keys and no sessions any more; active again has the places of the groups', async (t) => {
  const email = fresh();
  const { key, userId } = await invited(email);
  const asked = async () => (await send(gateway, 'GET', '/sessions/current', { key })).status;
  const signedIn = await fetch(`${gateway.origin}/v1/sessions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
    body: '{}',
  });
  const cookie = (signedIn.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  const session = async () =>
    (await fetch(`${gateway.origin}/v1/sessions/current`, { headers: { cookie } })).status;
  t.deepEqual([await asked(), await session()], [200, 200]);
  t.is((await scim.patch(`/Users/${userId}`, { op: 'replace', value: { active: false } })).status, 200);
  await eventually('the end of the key', async () => (await asked()) === 401);
  await eventually('the end of the session', async () => (await session()) === 401);
  t.is(
    (await scim.patch(`/Users/${userId}`, { op: 'replace', path: 'active', value: true })).json.active,
    true,
  );
  t.deepEqual([await asked(), await session()], [401, 401], 'they stay ended');
  const { data } = await ok(gateway, 'GET', '/admin/workspaces/default/users?page_size=1000');
  t.true((data as Json[]).some((member) => member.email === email));
});

test('groups give roles: the highest, in workspaces and in the organisation, and take them back', async (t) => {
  await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Lab', slug: 'lab' } });
  const user = await made();
  const map = (body: Json) => ok(gateway, 'POST', '/scim/workspaces', { body });
  const low = await map({ workspace_id: 'lab', role: 'member', scim_group_name: 'Lab people' });
  const high = await map({ workspace_id: 'lab', role: 'admin', scim_group_name: 'Lab leads' });
  const admins = await map({ role: 'admin', scim_group_name: 'Admins' });
  const join = (mapping: Json) =>
    scim.patch(`/Groups/${mapping.scim_group_id}`, {
      op: 'add',
      path: 'members',
      value: [{ value: user.id }],
    });
  const leave = (mapping: Json) =>
    scim.patch(`/Groups/${mapping.scim_group_id}`, { op: 'remove', path: `members[value eq "${user.id}"]` });
  const role = async () => (await send(gateway, 'GET', `/admin/workspaces/lab/users/${user.id}`)).json.role;
  await join(low);
  t.is(await role(), 'member');
  await join(high);
  t.is(await role(), 'admin');
  await leave(high);
  t.is(await role(), 'member');
  await leave(low);
  t.is(await role(), undefined);
  await join(admins);
  t.like(await ok(gateway, 'GET', `/admin/users/${user.id}`), { role: 'admin' });
  await scim.send('DELETE', `/Groups/${admins.scim_group_id}`);
  t.like(await ok(gateway, 'GET', `/admin/users/${user.id}`), { role: 'member' });
  const named = { displayName: 'ws-lab-role-manager', members: [{ value: user.id }] };
  const automatic = await scim.ok('POST', '/Groups', named, 201);
  t.is(await role(), 'manager', 'a name says what it is for');
  const { userId } = await invited(fresh());
  const body = { users: [{ id: userId, role: 'manager' }] };
  await ok(gateway, 'POST', '/admin/workspaces/lab/users', { body });
  const byHand = async () => (await send(gateway, 'GET', `/admin/workspaces/lab/users/${userId}`)).json.role;
  const members = (op: string) => ({ op, path: 'members', value: [{ value: userId }] });
  await scim.patch(`/Groups/${high.scim_group_id}`, members('add'));
  t.is(await byHand(), 'admin');
  await scim.patch(`/Groups/${high.scim_group_id}`, members('remove'));
  t.is(await byHand(), 'manager', 'what was given by hand stays');
  await scim.send('DELETE', `/Groups/${automatic.id}`);
  t.is(await role(), undefined);
});

test('the last owner stays; changes are audited with the token as actor; no token leads elsewhere', async (t) => {
  const { id, token } = await newScimToken(gateway, 'audited');
  const other = new ScimClient(gateway, token);
  const user = await other.ok('POST', '/Users', { userName: fresh() }, 201);
  const audit = await ok(gateway, 'GET', `/audit-logs?resource_type=user&actor=${id}`);
  t.like((audit.records as Json[])[0], { action: 'create' });
  t.true(JSON.stringify(audit).includes(String(user.id)));
  t.false(JSON.stringify(audit).includes(token));
  t.is((await send(gateway, 'GET', '/admin/users', { key: token })).status, 401);
  for (const wrong of ['', ADMIN_KEY, `sct_${'a'.repeat(43)}`, 'sct_x'])
    t.is((await new ScimClient(gateway, wrong).send('GET', '/Users')).status, 401);
  t.is((await scim.send('GET', `/Users/${NOBODY}`)).status, 404);
  const { data } = await ok(gateway, 'GET', '/admin/users?role=owner');
  for (const owner of data as Json[])
    t.is((await scim.patch(`/Users/${owner.id}`, { op: 'replace', value: { active: false } })).status, 403);
});
