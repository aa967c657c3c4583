// Two who do the same thing at once, over one instance and over two on one MongoDB: one of them does it.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { scopesOf } from '../../src/access/scopes.ts';
import type { Answer, Json } from '../support/front-door.ts';
import * as call from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';

/** Where the two of a race call. */
type Site = readonly [TestGateway, TestGateway];

const mongo = await mongoServer();
const started: TestGateway[] = [];
let count = 0;

test.after.always(() => Promise.all(started.map((gateway) => gateway.close())));

async function site(env: Record<string, string> = {}, two = false): Promise<Site> {
  // Together, as a deployment's first instances start.
  const gateways = await Promise.all(
    (two ? [1, 2] : [1]).map(async () => {
      const gateway = await startGateway(env);
      started.push(gateway);
      return gateway;
    }),
  );
  return [gateways[0], gateways.at(-1)] as Site;
}

let embedded: Promise<Site> | undefined;
let shared: Promise<Site> | undefined;

function onMongo(): Promise<Site> {
  const uri = new URL(mongo?.uri ?? '');
  uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
  const GATEWAY_ENCRYPTION_KEY = randomBytes(32).toString('base64');
  return site({ MONGODB_URI: uri.href, GATEWAY_ENCRYPTION_KEY }, true);
}

/** One race, told once and run in both places. */
function race(name: string, run: (t: ExecutionContext, site: Site) => Promise<void>): void {
  test.serial(`${name} [one instance]`, async (t) => {
    embedded ??= site();
    await run(t, await embedded);
  });
  if (mongo)
    test.serial(`${name} [two instances on MongoDB]`, async (t) => {
      shared ??= onMongo();
      await run(t, await shared);
    });
}
if (!mongo) reportMissing(test, 'MongoDB');

const send = (gateway: TestGateway, verb: string, path: string, body?: Json, key?: string) =>
  call.send(gateway, verb, path, { ...(body && { body }), ...(key === undefined ? {} : { key }) });
const ok = (gateway: TestGateway, verb: string, path: string, body?: Json, key?: string) =>
  call.ok(gateway, verb, path, { ...(body && { body }), ...(key === undefined ? {} : { key }) });

/** The same call by both, several times over at once. */
function together(sites: Site, times: number, ask: (gateway: TestGateway, i: number) => Promise<Answer>) {
  return Promise.all(Array.from({ length: times }, (_, i) => ask(sites[i % 2] as TestGateway, i)));
}

const statuses = (answers: readonly Answer[]): number[] => answers.map(({ status }) => status).sort();
const param = ({ json }: Answer): unknown => (json.error as Json | undefined)?.param;

async function invite(
  gateway: TestGateway,
  body: Json = {},
): Promise<{ path: string; token: string; email: string }> {
  const email = `r${++count}@people.test`;
  const { invite_link: link } = await ok(gateway, 'POST', '/admin/users/invites', {
    email,
    role: 'member',
    ...body,
  });
  return { ...call.invitation(link), email };
}

async function user(sites: Site): Promise<string> {
  const { path, token } = await invite(sites[0]);
  const id = String((await ok(sites[0], 'POST', `${path}/accept`, { token }, '-')).user_id);
  await seen(sites[1], `/admin/users/${id}`);
  return id;
}

/** Waits until the other instance has heard of it. */
async function seen(gateway: TestGateway, path: string): Promise<void> {
  for (let i = 0; i < 100; i++) {
    if ((await send(gateway, 'GET', path)).status === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  // Lists and single reads ask the store, what writes refer to is asked of memory.
  await new Promise((resolve) => setTimeout(resolve, 150));
}

race('one of many acceptances of an invitation makes the user', async (t, sites) => {
  const { path, token, email } = await invite(sites[0]);
  const answers = await together(sites, 6, (gateway) =>
    send(gateway, 'POST', `${path}/accept`, { token }, '-'),
  );
  t.deepEqual(statuses(answers), [200, 409, 409, 409, 409, 409]);
  t.is((await ok(sites[0], 'GET', `/admin/users?email=${email}`)).total, 1);
});

race('an invitation that is cancelled and accepted at once is one of both', async (t, sites) => {
  const { path, token, email } = await invite(sites[0]);
  const [accepted, cancelled] = (await together(sites, 2, (gateway, i) =>
    i === 0 ? send(gateway, 'POST', `${path}/accept`, { token }, '-') : send(gateway, 'DELETE', path),
  )) as [Answer, Answer];
  t.deepEqual(statuses([accepted, cancelled]), [200, 409]);
  const total = (await ok(sites[0], 'GET', `/admin/users?email=${email}`)).total;
  t.is(total, accepted.status === 200 ? 1 : 0);
});

race('an address has one pending invitation', async (t, sites) => {
  const email = `r${++count}@people.test`;
  const answers = await together(sites, 6, (gateway) =>
    send(gateway, 'POST', '/admin/users/invites', { email, role: 'member' }),
  );
  t.deepEqual(statuses(answers), [200, 409, 409, 409, 409, 409]);
  for (const answer of answers)
    if (answer.status === 409) t.is(param(answer), 'email', JSON.stringify(answer.json));
});

for (const [path, more] of [
  ['/admin/workspaces', {}],
  ['/deployments', { type: 'production' }],
] as const) {
  race(`a slug is one thing's of ${path}`, async (t, sites) => {
    const slug = `r-${++count}`;
    const answers = await together(sites, 6, (gateway) =>
      send(gateway, 'POST', path, { name: slug, slug, ...more }),
    );
    t.deepEqual(statuses(answers), [200, 409, 409, 409, 409, 409]);
    for (const answer of answers)
      if (answer.status === 409) t.is(param(answer), 'slug', JSON.stringify(answer.json));
  });
}

race('a workspace has a user once', async (t, sites) => {
  const id = await user(sites);
  const members = { users: [{ id, role: 'member' }] };
  const answers = await together(sites, 4, (gateway) =>
    send(gateway, 'POST', '/admin/workspaces/default/users', members),
  );
  t.deepEqual(statuses(answers), [200, 409, 409, 409]);
  for (const answer of answers)
    if (answer.status === 409) t.is(param(answer), 'users[0].id', JSON.stringify(answer.json));
});

race('a maximum of deployments holds, and up to it all are made', async (t, sites) => {
  const [gateway] = sites;
  const type = 'non-production';
  const { total } = await ok(gateway, 'GET', `/deployments?type=${type}`);
  const settings = { max_non_production_deployments: Number(total) + 6 };
  await ok(gateway, 'PUT', '/admin/organisation', { settings });
  const made = await together(sites, 6, (one) => send(one, 'POST', '/deployments', { name: 'n', type }));
  t.deepEqual(statuses(made), [200, 200, 200, 200, 200, 200]);
  const more = await together(sites, 2, (one) => send(one, 'POST', '/deployments', { name: 'n', type }));
  t.deepEqual(statuses(more), [409, 409]);
  await ok(gateway, 'PUT', '/admin/organisation', { settings: { max_non_production_deployments: -1 } });
});

race('a user holds as many keys as the workspace allows', async (t, sites) => {
  const [gateway] = sites;
  const settings = { user_api_key_count: 3 };
  const { id: workspace_id } = await ok(gateway, 'POST', '/admin/workspaces', { name: 'Few keys', settings });
  const user_id = await user(sites);
  await ok(gateway, 'POST', `/admin/workspaces/${workspace_id}/users`, {
    users: [{ id: user_id, role: 'member' }],
  });
  await seen(sites[1], `/admin/workspaces/${workspace_id}/users/${user_id}`);
  const body = { name: 'k', workspace_id, user_id, scopes: scopesOf('workspace-user') };
  const answers = await together(sites, 6, (one) => send(one, 'POST', '/api-keys/workspace/user', body));
  t.deepEqual(statuses(answers), [200, 200, 200, 409, 409, 409]);
});

const FIELDS: readonly Json[] = [{ description: 'd' }, { icon: 'i' }, { settings: { debug_log: 1 } }];
race('changes of different fields at once are all made', async (t, sites) => {
  const made = await ok(sites[0], 'POST', '/admin/workspaces', { name: 'Changed' });
  const path = `/admin/workspaces/${made.id}`;
  await seen(sites[1], path);
  const answers = await together(sites, 3, (gateway, i) => send(gateway, 'PUT', path, FIELDS[i]));
  t.deepEqual(statuses(answers), [200, 200, 200]);
  const { description, icon, settings } = await ok(
    sites[0],
    'GET',
    `/admin/workspaces?exact_name=Changed`,
  ).then(({ data }) => (data as Json[])[0] as Json);
  t.like({ description, icon, settings }, { description: 'd', icon: 'i', settings: { debug_log: 1 } });
});

race('settings for tokens that are made at once are made once, and replaced', async (t, sites) => {
  const answers = await together(sites, 4, (gateway, i) =>
    send(gateway, 'PUT', '/admin/organisation/jwt', {
      jwks_uri: `https://issuer.example.com/${i}`,
      issuers: ['https://issuer.example.com'],
    }),
  );
  t.deepEqual(statuses(answers), [200, 200, 200, 200]);
  await ok(sites[0], 'DELETE', '/admin/organisation/jwt');
});

race('two who delete a user at once: one does', async (t, sites) => {
  const id = await user(sites);
  const answers = await together(sites, 4, (gateway) => send(gateway, 'DELETE', `/admin/users/${id}`));
  t.deepEqual(
    statuses(answers).map((status) => (status === 409 ? 404 : status)),
    [200, 404, 404, 404],
  );
});

race('instances that start together make one first key of each kind', async (t, sites) => {
  const { data } = await ok(sites[0], 'GET', '/api-keys?page_size=1000');
  for (const name of ['First admin key', 'First workspace key'])
    t.is((data as Json[]).filter((key) => key.name === name).length, 1, name);
});

race('the log of all this is a whole chain', async (t, sites) => {
  for (const gateway of new Set(sites)) t.is((await ok(gateway, 'GET', '/audit-logs/verify')).valid, true);
});
