// Values of secret references go to no host that a person below the organisation's admins chose: every way that was tried.
import test, { type ExecutionContext } from 'ava';
import { scopesOf } from '../../src/access/scopes.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { type People, type Person, peopleOf } from '../support/people.ts';

const SECRET = 'sk-of-the-organisation-0123456789';
let gateway: TestGateway;
let people: People;
let place: string;
let member: Person;
let manager: Person;
let admin: Person;
/** The organisation's own server, and a thief's. */
let own: FakeProvider;
let thief: FakeProvider;
let count = 0;

test.before(async () => {
  gateway = await startGateway({ GATEWAY_SECRET_ENV_ALLOW: 'ORG_SECRET', ORG_SECRET: SECRET });
  people = peopleOf(gateway);
  own = await startFakeProvider();
  thief = await startFakeProvider();
  place = await people.workspace();
  member = await people.person(place, 'member');
  manager = await people.person(place, 'manager');
  admin = await people.admin(place);
  await reference('any', {});
});
test.after.always(async () => {
  await gateway?.close();
  await own?.close();
  await thief?.close();
});

const reference = (slug: string, more: object) =>
  people.ok('POST', '/secret-references', {
    name: slug,
    slug,
    manager_type: 'env',
    secret_path: 'ORG_SECRET',
    auth_config: {},
    ...more,
  });
const mapping = (slug = 'any') => [{ target_field: 'key', secret_reference_id: slug }];
const host = ({ origin }: FakeProvider) => `${origin}/v1`;
const slugOf = () => `k${++count}`;

/** A virtual key of the workspace. */
const create = (body: object, key?: string) =>
  people.send(
    'POST',
    '/virtual-keys',
    { name: 'v', provider: 'openai', ...(key ? {} : { workspace_id: place }), ...body },
    key,
  );
const change = (slug: string, body: object, key?: string) =>
  people.send('PUT', `/virtual-keys/${slug}`, { ...body }, key);

async function chat(slug: string, headers: Record<string, string> = {}) {
  const response = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      'x-gateway-api-key': member.key,
      'x-gateway-provider': `@${slug}`,
      ...headers,
    },
    body: JSON.stringify({ model: 'm', messages: [{ role: 'user', content: 'Hi' }] }),
  });
  return { status: response.status, json: (await response.json()) as { error?: { message: string } } };
}

/** Nothing that went to the thief has the secret in it. */
function kept(t: ExecutionContext): void {
  t.false(JSON.stringify(thief.seen).includes(SECRET));
}

test('a member makes no virtual key with a mapping, a manager does, and a service with the scope', async (t) => {
  const body = { secret_mappings: mapping() };
  const refused = await create({ ...body, slug: slugOf() }, member.key);
  t.is(refused.status, 403);
  t.regex(JSON.stringify(refused.json), /secret_references\.use|role member/);
  t.is((await create({ ...body, slug: slugOf() }, manager.key)).status, 200);
  t.is((await create({ ...body, slug: slugOf() }, admin.key)).status, 200);
  const scopes = scopesOf('workspace-service');
  t.is((await create({ ...body, slug: slugOf() }, await people.service(place, scopes))).status, 200);
  const less = scopes.filter((scope) => scope !== 'secret_references.use');
  const without = await create({ ...body, slug: slugOf() }, await people.service(place, less));
  t.is(without.status, 403);
  t.regex(JSON.stringify(without.json), /lacks the scope secret_references\.use/);
});

test('a key of the organisation from before there was the scope goes on', async (t) => {
  const scopes = scopesOf('organisation-service').filter((scope) => scope !== 'secret_references.use');
  const { key } = await people.ok('POST', '/api-keys/organisation/service', { name: 'old', scopes });
  const body = {
    name: 'v',
    slug: slugOf(),
    provider: 'openai',
    workspace_id: place,
    secret_mappings: mapping(),
  };
  t.is((await people.send('POST', '/virtual-keys', body, String(key))).status, 200);
  const few = ['virtual_keys.create'];
  const { key: narrow } = await people.ok('POST', '/api-keys/organisation/service', {
    name: 'few',
    scopes: few,
  });
  t.is((await people.send('POST', '/virtual-keys', { ...body, slug: slugOf() }, String(narrow))).status, 403);
});

test('below the organisation’s admins nobody puts a custom host beside a mapping, at once or in two steps', async (t) => {
  for (const key of [manager.key, await people.service(place)]) {
    const at = { custom_host: host(thief) };
    t.is((await create({ ...at, slug: slugOf(), secret_mappings: mapping() }, key)).status, 403);
    const first = slugOf();
    t.is((await create({ ...at, slug: first, key: 'sk-mine-0123456789' }, key)).status, 200);
    t.is((await change(first, { secret_mappings: mapping() }, key)).status, 403, 'the host first');
    const then = slugOf();
    t.is((await create({ slug: then, secret_mappings: mapping() }, key)).status, 200);
    t.is((await change(then, at, key)).status, 400, 'the mapping first');
    t.is((await change(then, { ...at, secret_mappings: mapping() }, key)).status, 403);
    t.is((await change(then, { ...at, key: 'sk-mine-0123456789' }, key)).status, 400);
    t.is((await change(then, { ...at, key: 'sk-mine-0123456789', secret_mappings: null }, key)).status, 200);
  }
  kept(t);
});

test('who changes the address of the admin’s virtual key gives the mapping again, or loses it', async (t) => {
  const slug = slugOf();
  t.is((await create({ slug, custom_host: host(own), secret_mappings: mapping() })).status, 200);
  for (const key of [member.key, manager.key, admin.key, ADMIN_KEY]) {
    const moved = await change(slug, { custom_host: host(thief) }, key);
    t.is(moved.status, 400);
    t.is((moved.json.error as { param?: string }).param, 'secret_mappings');
    t.is((await change(slug, { custom_host: null }, key)).status, 400, 'to the provider itself');
  }
  t.is(
    (await change(slug, { custom_host: host(thief), secret_mappings: mapping() }, manager.key)).status,
    403,
  );
  t.is((await change(slug, { custom_host: `${own.origin}/other` }, manager.key)).status, 403, 'another path');
  t.is((await change(slug, { name: 'renamed', note: 'x' }, member.key)).status, 200, 'what is no address');
  t.is(
    (await change(slug, { secret_mappings: mapping(), custom_host: host(own) }, member.key)).status,
    200,
    'as it is',
  );
  t.is((await chat(slug)).status, 200);
  t.is(own.seen.at(-1)?.headers.authorization, `Bearer ${SECRET}`);
  t.is((await change(slug, { custom_host: host(thief), secret_mappings: mapping() }, admin.key)).status, 200);
  kept(t);
});

test('regions and resource names are addresses too', async (t) => {
  const slug = slugOf();
  const azure = { provider: 'azure-openai', resource_name: 'ours', deployment_name: 'd', api_version: 'v1' };
  t.is((await create({ ...azure, slug, secret_mappings: mapping() })).status, 200);
  const moved = await change(slug, { resource_name: 'theirs' }, manager.key);
  t.is(moved.status, 400);
  t.is((moved.json.error as { param?: string }).param, 'secret_mappings');
  t.is((await change(slug, { resource_name: 'theirs', secret_mappings: mapping() }, member.key)).status, 403);
});

test('integrations: hosts, hosts of models, proxies', async (t) => {
  const slug = slugOf();
  const body = { name: slug, ai_provider_id: 'openai', workspace_id: place };
  const put = (path: string, change: object, key?: string) =>
    people.send('PUT', `/integrations/${path}`, { ...change }, key);
  await people.ok('POST', '/integrations', {
    ...body,
    slug,
    secret_mappings: mapping(),
    configurations: { custom_host: host(own) },
  });
  for (const key of [manager.key, ADMIN_KEY])
    t.is((await put(slug, { configurations: { custom_host: host(thief) } }, key)).status, 400);
  const both = { configurations: { custom_host: host(thief) }, secret_mappings: mapping() };
  t.is((await put(slug, both, manager.key)).status, 403);
  t.is((await put(slug, { network: { proxy_url: thief.origin } }, manager.key)).status, 400);
  const proxied = { network: { proxy_url: thief.origin }, secret_mappings: mapping() };
  t.is((await put(slug, proxied, manager.key)).status, 403);
  const models = { models: [{ slug: 'm', enabled: true, configurations: { custom_host: host(thief) } }] };
  t.is((await put(`${slug}/models`, models, manager.key)).status, 403);
  t.is((await put(`${slug}/models`, { models: [{ slug: 'm', enabled: true }] }, manager.key)).status, 200);
  const fresh = { ...body, secret_mappings: mapping(), configurations: { custom_host: host(thief) } };
  const { workspace_id: _, ...mine } = fresh;
  t.is((await people.send('POST', '/integrations', { ...mine, slug: slugOf() }, manager.key)).status, 403);
  t.is((await chat(slug)).status, 200);
  kept(t);
  // An admin may, and the host of the model is known to the mapping from then on.
  await people.ok('PUT', `/integrations/${slug}/models`, {
    models: [{ slug: 'm', enabled: true, configurations: { custom_host: `${own.origin}/m/v1` } }],
  });
  t.is((await chat(slug)).status, 200);
  t.is(own.seen.at(-1)?.url, '/m/v1/chat/completions');
});

test('a credential that somebody else gave goes to no new host of a model', async (t) => {
  const slug = slugOf();
  await people.ok('POST', '/integrations', {
    name: slug,
    slug,
    ai_provider_id: 'openai',
    workspace_id: place,
    key: 'sk-of-the-admin-0123456789',
  });
  const models = { models: [{ slug: 'm', enabled: true, configurations: { custom_host: host(thief) } }] };
  t.is((await people.send('PUT', `/integrations/${slug}/models`, models, manager.key)).status, 403);
  t.is((await people.send('PUT', `/integrations/${slug}/models`, models)).status, 200);
});

test('at call time no header and no config leads a mapped secret elsewhere', async (t) => {
  const slug = slugOf();
  t.is((await create({ slug, custom_host: host(own), secret_mappings: mapping() })).status, 200);
  const elsewhere = host(thief);
  const configs: object[] = [
    { provider: `@${slug}`, custom_host: elsewhere },
    { virtual_key: slug, custom_host: elsewhere },
    { custom_host: elsewhere, targets: [{ provider: `@${slug}` }] },
    { provider: `@${slug}`, targets: [{ custom_host: elsewhere }] },
    { custom_host: elsewhere },
  ];
  for (const config of configs) {
    const { status } = await chat(slug, { 'x-gateway-config': JSON.stringify(config) });
    t.is(status, 400, JSON.stringify(config));
    const saved = { name: 'c', config, workspace_id: place };
    const { status: made, json } = await people.send('POST', '/configs', saved);
    if (made === 200) t.is((await chat(slug, { 'x-gateway-config': String(json.id) })).status, 400);
  }
  t.is((await chat(slug, { 'x-gateway-custom-host': elsewhere })).status, 400);
  const config = JSON.stringify({ provider: `@${slug}` });
  const by = { 'x-gateway-provider': '', 'x-gateway-config': config, 'x-gateway-custom-host': elsewhere };
  t.is((await chat(slug, by)).status, 400);
  t.is(thief.seen.length, 0);
});

test('a reference that names hosts is bound to them, for admins too, at the call as well', async (t) => {
  await reference('bound', { allowed_hosts: ['api.openai.com', `127.0.0.1:${new URL(own.origin).port}`] });
  const shown = await people.ok('GET', '/secret-references/bound');
  t.deepEqual(shown.allowed_hosts, ['api.openai.com', `127.0.0.1:${new URL(own.origin).port}`]);
  const refused = await create({
    slug: slugOf(),
    custom_host: host(thief),
    secret_mappings: mapping('bound'),
  });
  t.is(refused.status, 400);
  t.is((refused.json.error as { param?: string }).param, 'secret_mappings[0].secret_reference_id');
  const slug = slugOf();
  t.is((await create({ slug, custom_host: host(own), secret_mappings: mapping('bound') })).status, 200);
  t.is((await chat(slug)).status, 200);
  await people.ok('PUT', '/secret-references/bound', { allowed_hosts: ['api.openai.com'] });
  const before = own.seen.length;
  const late = await chat(slug);
  t.is(late.status, 403);
  t.regex(String(late.json.error?.message), /allowed_hosts/);
  t.is(own.seen.length, before);
  await people.ok('PUT', '/secret-references/bound', { allowed_hosts: null });
  t.is((await chat(slug)).status, 200, 'an admin put the host there');
  t.is((await people.send('PUT', '/secret-references/bound', { allowed_hosts: ['http://x'] })).status, 400);
});
