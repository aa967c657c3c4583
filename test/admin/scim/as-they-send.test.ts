// The requests that Entra ID and Okta send, as their documents and logs show them, and each answer that they need.
import test from 'ava';
import { startGateway, type TestGateway } from '../../support/gateway.ts';
import { newScimToken, ScimClient, type ScimJson } from '../../support/scim-client.ts';

const CORE = 'urn:ietf:params:scim:schemas:core:2.0';
const USER = `${CORE}:User`;
const GROUP = `${CORE}:Group`;
const ENTERPRISE = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const PATCH = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

let gateway: TestGateway;
let scim: ScimClient;
test.before(async () => {
  gateway = await startGateway();
  scim = new ScimClient(gateway, (await newScimToken(gateway)).token);
});
test.after.always(() => gateway?.close());

let count = 0;
const fresh = (name: string): string => `${name}-${++count}@as-sent.test`;
const query = (path: string, filter: string, rest = '') =>
  scim.ok('GET', `${path}?filter=${encodeURIComponent(filter)}${rest}`);
const patch = (path: string, ...Operations: readonly ScimJson[]) =>
  scim.send('PATCH', path, { schemas: [PATCH], Operations });

/** As Entra makes one. */
const entraUser = async (): Promise<ScimJson> => {
  const userName = fresh('Test_User');
  return scim.ok(
    'POST',
    '/Users',
    {
      schemas: [USER, ENTERPRISE],
      externalId: `ext-${userName}`,
      userName,
      active: true,
      displayName: 'BobIsAmazing',
      emails: [{ primary: true, type: 'work', value: userName }],
      meta: { resourceType: 'User' },
      name: { formatted: 'Ryan Leenay', familyName: 'Leenay', givenName: 'Ryan' },
      roles: [],
    },
    201,
  );
};
/** As Okta makes one. */
const oktaUser = async (): Promise<ScimJson> => {
  const userName = fresh('okta');
  return scim.ok(
    'POST',
    '/Users',
    {
      schemas: [USER],
      userName,
      name: { givenName: 'Test', familyName: 'User' },
      emails: [{ primary: true, value: userName, type: 'work' }],
      displayName: 'Test User',
      locale: 'en-US',
      externalId: `00u${count}`,
      groups: [],
      password: '1mz050nq',
      active: true,
    },
    201,
  );
};

test('Entra: users are looked for by name in any letter case, by externalId, and by an address of a type', async (t) => {
  const nobody = await query('/Users', 'userName eq "Test_User_dfeef4c5-5681-4387-b016-bdf221e82081"');
  t.deepEqual(nobody, {
    schemas: ['urn:ietf:params:scim:api:messages:2.0:ListResponse'],
    totalResults: 0,
    startIndex: 1,
    itemsPerPage: 0,
    Resources: [],
  });
  const user = await entraUser();
  for (const filter of [
    `userName eq "${String(user.userName).toUpperCase()}"`,
    `UserName Eq "${user.userName}"`,
    `externalId eq "${user.externalId}"`,
    `emails[type eq "work"].value eq "${user.userName}"`,
    `emails[type eq "work"].value eq "${String(user.userName).toUpperCase()}" and active eq true`,
    `${USER}:userName eq "${user.userName}"`,
  ]) {
    const { totalResults, Resources } = await query('/Users', filter);
    t.is(totalResults, 1, filter);
    t.is((Resources as ScimJson[])[0]?.id, user.id, filter);
  }
  t.is((await query('/Users', `emails[type eq "home"].value eq "${user.userName}"`)).totalResults, 0);
  for (const filter of [
    'emails[type eq "work"].nothing eq "a"',
    'emails[type eq "work"].value',
    '.value eq "a"',
  ]) {
    const { status, json } = await scim.send('GET', `/Users?filter=${encodeURIComponent(filter)}`);
    t.is(status, 400, filter);
    t.is(json.scimType, 'invalidFilter', filter);
  }
  const again = await scim.send('POST', '/Users', { schemas: [USER], userName: user.userName });
  t.is(again.status, 409);
  t.like(again.json, { scimType: 'uniqueness', status: '409' });
});

test('Entra: operations in capitals, values without a path, "False" as a text, and a manager in four forms', async (t) => {
  const user = await entraUser();
  const boss = await entraUser();
  const path = `/Users/${user.id}`;
  const work = fresh('updated');
  const { status, json } = await patch(
    path,
    { op: 'Replace', path: 'emails[type eq "work"].value', value: work },
    { op: 'Replace', path: 'name.familyName', value: 'updatedFamilyName' },
    { op: 'Add', path: 'phoneNumbers[type eq "mobile"].value', value: '+1 555' },
    { op: 'Add', path: 'addresses[type eq "work"].formatted', value: '1 Street' },
    { op: 'Add', path: 'roles[primary eq "True"].value', value: 'engineer' },
    { op: 'Add', path: `${ENTERPRISE}:employeeNumber`, value: '7' },
    { op: 'Add', path: `${ENTERPRISE}:manager`, value: [{ $ref: null, value: boss.id }] },
  );
  t.is(status, 200, JSON.stringify(json));
  t.like(json, {
    emails: [{ value: work, type: 'work', primary: true }],
    name: { familyName: 'updatedFamilyName', givenName: 'Ryan' },
    phoneNumbers: [{ value: '+1 555', type: 'mobile' }],
    addresses: [{ formatted: '1 Street', type: 'work' }],
    roles: [{ value: 'engineer', primary: true }],
    [ENTERPRISE]: { employeeNumber: '7', manager: { value: boss.id } },
  });
  for (const operation of [
    { op: 'Replace', path: `${ENTERPRISE}:manager`, value: boss.id },
    { op: 'Replace', path: `${ENTERPRISE}:manager`, value: { value: boss.id } },
    { op: 'Replace', value: { [`${ENTERPRISE}:manager`]: boss.id } },
    { op: 'Replace', value: { [ENTERPRISE]: { manager: { value: boss.id } } } },
    { op: 'Add', path: `${ENTERPRISE}:manager.value`, value: boss.id },
  ]) {
    await patch(path, { op: 'Remove', path: `${ENTERPRISE}:manager` });
    t.false('manager' in ((await scim.ok('GET', path))[ENTERPRISE] as ScimJson));
    const answer = await patch(path, operation);
    t.is(answer.status, 200, JSON.stringify(operation));
    t.like(answer.json[ENTERPRISE], { employeeNumber: '7', manager: { value: boss.id } });
  }
  for (const [value, active] of [
    ['False', false],
    ['True', true],
    [false, false],
    ['true', true],
  ] as const) {
    t.is((await patch(path, { op: 'Replace', path: 'active', value })).json.active, active);
    t.is((await patch(path, { op: 'replace', value: { active: value } })).json.active, active);
  }
  const whole = {
    displayName: 'Whole',
    'name.givenName': 'G',
    [`${USER}:title`]: 'T',
    'emails[type eq "home"].value': work,
  };
  t.like((await patch(path, { op: 'Add', value: whole })).json, {
    displayName: 'Whole',
    name: { givenName: 'G' },
    title: 'T',
    emails: [{ type: 'work' }, { type: 'home', value: work }],
  });
});

test('Entra: groups without their members, and members added and removed in three forms', async (t) => {
  const [a, b, c] = [await entraUser(), await entraUser(), await entraUser()];
  const displayName = `Group ${++count}`;
  const group = await scim.ok(
    'POST',
    '/Groups',
    {
      schemas: [GROUP, 'http://schemas.microsoft.com/2006/11/ResourceManagement/ADSCIM/2.0/Group'],
      externalId: `ext-group-${count}`,
      displayName,
      meta: { resourceType: 'Group' },
    },
    201,
  );
  const path = `/Groups/${group.id}`;
  const add = (...ids: unknown[]) =>
    patch(path, { op: 'Add', path: 'members', value: ids.map((value) => ({ $ref: null, value })) });
  t.is((await add(a.id, b.id, c.id)).status, 200);
  t.is(
    (await patch(path, { op: 'Replace', path: 'displayName', value: `${displayName} renamed` })).status,
    200,
  );
  const filter = `displayName eq "${displayName.toUpperCase()} RENAMED"`;
  const { totalResults, Resources } = await query('/Groups', filter, '&excludedAttributes=members');
  t.is(totalResults, 1);
  t.false('members' in ((Resources as ScimJson[])[0] ?? {}));
  t.false('members' in (await scim.ok('GET', `${path}?excludedAttributes=members`)));
  t.is((await query('/Groups', `externalId eq "${group.externalId}"`)).totalResults, 1);
  await patch(path, { op: 'Remove', path: 'members', value: [{ $ref: null, value: a.id }] });
  await patch(path, { op: 'Remove', path: `members[value eq "${b.id}"]` });
  t.deepEqual(
    ((await scim.ok('GET', path)).members as ScimJson[]).map(({ value }) => value),
    [c.id],
  );
  t.is((await patch(path, { op: 'Remove', path: `members[value eq "${b.id}"]` })).status, 200, 'once more');
  for (const operation of [
    { op: 'Replace', path: `members[value eq "${c.id}"].value`, value: a.id },
    { op: 'Replace', path: 'members.value', value: a.id },
    { op: 'Replace', path: 'id', value: 'x' },
    { op: 'Replace', path: 'meta.created', value: '2020-01-01T00:00:00Z' },
  ])
    t.like((await patch(path, operation)).json, { scimType: 'mutability', status: '400' }, operation.path);
  await patch(path, { op: 'Remove', path: 'members' });
  t.false('members' in (await scim.ok('GET', path)));
});

test('Okta: a whole user by PUT, deactivated and active again', async (t) => {
  const user = await oktaUser();
  t.false('password' in user);
  const path = `/Users/${user.id}`;
  const found = await query('/Users', `userName eq "${user.userName}"`, '&startIndex=1&count=100');
  t.is(found.totalResults, 1);
  const whole = { ...user, name: { givenName: 'Another', familyName: 'User' }, displayName: 'Another User' };
  t.like(await scim.ok('PUT', path, whole), {
    name: { givenName: 'Another' },
    active: true,
    externalId: user.externalId,
  });
  t.is((await scim.ok('PUT', path, { ...whole, active: false })).active, false);
  t.is((await scim.ok('GET', path)).active, false);
  t.is((await scim.ok('PUT', path, { ...whole, active: true })).active, true);
  const off = { op: 'replace', value: { active: false } };
  t.is((await patch(path, off)).json.active, false);
  t.is((await scim.send('PUT', `/Users/${count}-unknown`, whole)).status, 404);
});

test('Okta: pages from startIndex and count, and groups of a thousand members', async (t) => {
  for (let i = 0; i < 3; i++) await oktaUser();
  const { totalResults } = await scim.ok('GET', '/Users?startIndex=1&count=1');
  const seen = new Set<unknown>();
  for (let startIndex = 1; startIndex <= Number(totalResults); startIndex += 2) {
    const page = await scim.ok('GET', `/Users?startIndex=${startIndex}&count=2`);
    t.is(page.startIndex, startIndex);
    for (const { id } of page.Resources as ScimJson[]) seen.add(id);
  }
  t.true(seen.size >= Number(totalResults));
  const beyond = await scim.ok('GET', '/Users?startIndex=100000&count=10');
  t.like(beyond, { itemsPerPage: 0, Resources: [] });

  const ids = Array.from(
    { length: 1000 },
    (_, i) => `00000000-0000-4000-8000-${String(i).padStart(12, '0')}`,
  );
  const members = ids.map((value) => ({ value, display: `${value}@as-sent.test` }));
  const displayName = `Everybody ${++count}`;
  const group = await scim.ok('POST', '/Groups', { schemas: [GROUP], displayName, members }, 201);
  t.is((group.members as ScimJson[]).length, 1000);
  const path = `/Groups/${group.id}`;
  const less = { schemas: [GROUP], displayName, members: members.slice(1) };
  t.is(((await scim.ok('PUT', path, less)).members as ScimJson[]).length, 999);
  const all = { op: 'replace', path: 'members', value: members };
  t.is(((await patch(path, all)).json.members as ScimJson[]).length, 1000);
  const renamed = { op: 'replace', value: { id: group.id, displayName: `${displayName} renamed` } };
  t.is((await patch(path, renamed)).json.displayName, `${displayName} renamed`);
  t.is(
    (await query('/Groups', `displayName eq "${displayName} renamed"`, '&startIndex=1&count=100'))
      .totalResults,
    1,
  );
});

test('a version that is not the newest is 412 for every change; lists of tags and * count', async (t) => {
  const user = await oktaUser();
  const path = `/Users/${user.id}`;
  const { version } = user.meta as { version: string };
  const body = { schemas: [USER], userName: user.userName };
  for (const tag of ['W/"0"', '"2"', 'W/"1x"', 'nothing'])
    for (const [verb, given] of [
      ['PUT', body],
      ['PATCH', { schemas: [PATCH], Operations: [{ op: 'replace', path: 'title', value: 'x' }] }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await scim.send(verb, path, given, { 'if-match': tag });
      t.is(answer.status, 412, `${verb} ${tag}`);
      t.like(answer.json, { schemas: ['urn:ietf:params:scim:api:messages:2.0:Error'], status: '412' });
    }
  t.is((await scim.send('PUT', path, body, { 'if-match': `"0", ${version}` })).status, 200);
  t.is((await scim.send('PUT', path, body, { 'if-match': '*' })).status, 200);
  t.is((await scim.send('DELETE', path, undefined, { 'if-match': version })).status, 412);
  const { headers } = await scim.send('GET', path);
  t.is((await scim.send('DELETE', path, undefined, { 'if-match': headers.get('etag') ?? '' })).status, 204);
});
