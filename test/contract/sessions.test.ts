// Sessions over every protocol, and their cookie as browsers send it.
import test from 'ava';
import { SessionsService } from '../../gen/gateway/admin/v2/sessions_pb.ts';
import { UsersService } from '../../gen/gateway/admin/v2/users_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { eventually } from '../support/eventually.ts';
import { startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { FOREIGN, fresh, gone, join, openStories, runRefused } from './identity-stories.ts';

const { createSession, getSession, listSessions, deleteSession, deleteUserSessions } = SessionsService.method;
const { bench, story } = openStories(test);

story('a session is made from a key, shown to its owner, and ended', async (t, admin) => {
  const slug = fresh('console');
  await admin.ok(WorkspacesService.method.createWorkspace, { name: `Console ${slug}`, slug });
  const person = await join(admin, slug, 'member', ['logs.list']);
  const other = await join(admin, slug, 'member', ['logs.list']);
  const mine = admin.as(person.key);
  const made = await mine.ok(createSession);
  t.like(made, { object: 'session', user_id: person.id, name: person.email, role: 'member' });
  t.deepEqual(made.scopes, ['logs.list']);
  t.like((made.workspaces as Json[])[0], { slug, role: 'member' });
  t.false(JSON.stringify(made).includes('sls_'), 'the secret is in the cookie alone');
  const listed = (await mine.ok(listSessions)).data as Json[];
  t.deepEqual(
    listed.map(({ id }) => id),
    [made.id],
  );
  t.deepEqual((await admin.as(other.key).ok(listSessions)).data, []);
  t.true(((await admin.ok(listSessions, { user_id: person.id })).data as Json[]).length === 1);
  await admin.as(other.key).refused(t, deleteSession, { session_id: String(made.id) }, 404);
  await admin.as(other.key).refused(t, deleteUserSessions, { user_id: person.id }, 404);
  await mine.ok(deleteSession, { session_id: String(made.id) });
  t.deepEqual((await mine.ok(listSessions)).data, []);
  await mine.refused(t, deleteSession, { session_id: String(made.id) }, 404);
  await mine.ok(createSession);
  await mine.ok(createSession);
  t.is((await admin.ok(deleteUserSessions, { user_id: person.id })).ended, 2);
  t.deepEqual((await mine.ok(listSessions)).data, []);
  t.like(await mine.ok(getSession), { id: '', name: person.email });
  await mine.ok(createSession);
  await admin.ok(UsersService.method.updateUser, { user_id: person.id, role: 'admin' });
  t.deepEqual((await admin.ok(listSessions, { user_id: person.id })).data, [], 'another role ends it');
});

runRefused(test, bench, [
  ['an unknown session', deleteSession, { session_id: FOREIGN }, gone],
  ['no session', deleteSession, { session_id: 'current' }, gone],
  ['an unknown user', deleteUserSessions, { user_id: FOREIGN }, gone],
]);

const signIn = async (key: string, headers: Readonly<Record<string, string>> = {}) => {
  const answer = await fetch(`${bench().gateway.origin}/v1/sessions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
    body: '{}',
  });
  const set = answer.headers.get('set-cookie') ?? '';
  return {
    status: answer.status,
    set,
    cookie: set.split(';')[0] ?? '',
    session: (await answer.json()) as Json,
  };
};
const asked = async (cookie: string, headers: Readonly<Record<string, string>> = {}, verb = 'GET') => {
  const url = `${bench().gateway.origin}/v1/sessions/current`;
  return (await fetch(url, { method: verb, headers: { cookie, ...headers } })).status;
};

test('the cookie is HttpOnly and SameSite=Lax, and __Host- and Secure over TLS', async (t) => {
  const plain = await signIn(ADMIN_KEY);
  t.regex(plain.set, /^sluice_session=sls_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800$/);
  const proxied = await signIn(ADMIN_KEY, { 'x-forwarded-proto': 'https' });
  t.regex(proxied.set, /^__Host-sluice_session=.*; Secure$/);
  t.is(await asked(plain.cookie), 200);
  t.is(await asked(proxied.cookie), 200);
  t.is(await asked(`sluice_session=sls_${'a'.repeat(43)}`), 401);
  t.is((await signIn('slk_wrong')).status, 401);
});

test('answers about sessions are kept nowhere', async (t) => {
  const { cookie } = await signIn(ADMIN_KEY);
  const ask = (path: string, verb = 'GET') =>
    fetch(`${bench().gateway.origin}/v1/sessions${path}`, { method: verb, headers: { cookie } });
  for (const answer of [await ask('/current'), await ask(''), await ask('/current', 'DELETE')]) {
    t.is(answer.status, 200, await answer.text());
    t.is(answer.headers.get('cache-control'), 'no-store');
  }
});

test('wrong keys are slowed, and right ones are not', async (t) => {
  const guesses = await startGateway();
  t.teardown(() => guesses.close());
  const tries = async (key: string) => {
    const answer = await fetch(`${guesses.origin}/v1/sessions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      body: '{}',
    });
    await answer.text();
    return answer;
  };
  // A connection that is ended may end under the next request: that one was not answered.
  const guess = (_: unknown, i: number) => tries(`slk_guess_${i}`).catch(() => undefined);
  const answers = await Promise.all(Array.from({ length: 300 }, guess));
  const all = answers.filter((answer) => answer !== undefined);
  const refused = all.filter(({ status }) => status === 429);
  t.true(refused.length > 0, `${all.map(({ status }) => status)}`);
  t.true(Number(refused[0]?.headers.get('retry-after')) >= 1);
  t.deepEqual([...new Set(all.map(({ status }) => status))].sort(), [401, 429]);
  t.is((await tries(ADMIN_KEY)).status, 200);
});

test('it counts for calls of this origin alone', async (t) => {
  const { cookie } = await signIn(ADMIN_KEY);
  const { origin } = bench().gateway;
  t.is(await asked(cookie, { origin }), 200);
  t.is(await asked(cookie, { origin, 'sec-fetch-site': 'same-origin' }), 200);
  const foreign: readonly Readonly<Record<string, string>>[] = [
    { origin: 'https://elsewhere.test' },
    { origin: 'null' },
    { 'sec-fetch-site': 'cross-site' },
    { 'sec-fetch-site': 'same-site', origin },
  ];
  for (const headers of foreign) t.is(await asked(cookie, headers), 401, JSON.stringify(headers));
});

test('a second sign-in replaces the session of the browser; a session makes none', async (t) => {
  const first = await signIn(ADMIN_KEY);
  const second = await signIn(ADMIN_KEY, { cookie: first.cookie });
  t.not(first.cookie, second.cookie);
  await eventually('the end of the session', async () => (await asked(first.cookie)) === 401);
  t.is((await signIn('', { cookie: second.cookie, 'x-gateway-api-key': '' })).status, 401);
  const own = await fetch(`${bench().gateway.origin}/v1/sessions`, {
    method: 'POST',
    headers: { cookie: second.cookie, 'content-type': 'application/json' },
    body: '{}',
  });
  t.is(own.status, 403);
});

test('it ends with its key and when people sign out', async (t) => {
  const { gateway } = bench();
  const body = { name: 'x', workspace_id: 'default', scopes: ['logs.list'] };
  const key = await ok(gateway, 'POST', '/api-keys/workspace/service', { body });
  const { cookie } = await signIn(String(key.key));
  t.is(await asked(cookie), 200);
  await ok(gateway, 'DELETE', `/api-keys/${key.id}`);
  await eventually('the end of the session', async () => (await asked(cookie)) === 401);
  const out = await signIn(ADMIN_KEY);
  const left = await fetch(`${gateway.origin}/v1/sessions/current`, {
    method: 'DELETE',
    headers: { cookie: out.cookie },
  });
  t.is(left.status, 200);
  t.regex(left.headers.get('set-cookie') ?? '', /Max-Age=0/);
  await eventually('the end of the session', async () => (await asked(out.cookie)) === 401);
  const audit = await ok(gateway, 'GET', '/audit-logs?resource_type=session&page_size=50');
  const verbs = (audit.records as Json[]).map(({ action }) => action);
  t.true(verbs.includes('create') && verbs.includes('delete'));
});

test("an organisation's session calls models in a workspace that it names; the log marks it, providers see no cookie", async (t) => {
  const { gateway } = bench();
  const provider = await startFakeProvider();
  t.teardown(() => provider.close());
  const { cookie } = await signIn(ADMIN_KEY);
  const call = (path: string, headers: Readonly<Record<string, string>>) =>
    fetch(`${gateway.origin}/v1${path}`, {
      method: 'POST',
      headers: {
        cookie: `theme=dark; ${cookie}`,
        'content-type': 'application/json',
        'x-gateway-provider': 'openai',
        'x-gateway-custom-host': `${provider.origin}/v1`,
        authorization: 'Bearer sk-provider',
        ...headers,
      },
      body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
    });
  t.is((await call('/chat/completions', {})).status, 400, 'it names no workspace');
  t.is((await call('/chat/completions', { 'x-gateway-workspace-id': FOREIGN })).status, 400);
  const named = { 'x-gateway-workspace-id': 'default', 'x-gateway-trace-id': fresh('console') };
  const whole = await call('/chat/completions', named);
  t.is(whole.status, 200, await whole.text());
  t.is((await call('/proxy/chat/completions', named)).status, 200);
  for (const { headers } of provider.seen) {
    t.is(headers.authorization, 'Bearer sk-provider');
    t.false(JSON.stringify(headers).includes('sls_'));
  }
  const list = await ok(gateway, 'GET', `/logs?trace_id=${named['x-gateway-trace-id']}`);
  const entries = list.data as Json[];
  t.is(entries.length, 2);
  for (const { metadata } of entries) t.like(metadata, { _source: 'console' });
  t.is((await call('/chat/completions', { ...named, 'x-gateway-api-key': WORKSPACE_KEY })).status, 200);
  t.false(JSON.stringify(provider.seen.at(-1)?.headers).includes('sls_'));
});
