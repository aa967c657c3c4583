// Sign-in by a real OpenID provider, and attacks on it.
import { request } from 'node:http';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import {
  Browser,
  CLIENT,
  type IdentityProvider,
  startIdentityProvider,
} from '../support/identity-provider.ts';
import { newScimToken, ScimClient } from '../support/scim-client.ts';

let provider: IdentityProvider;
let gateway: TestGateway;
test.before(async () => {
  provider = await startIdentityProvider();
  gateway = await startGateway({
    GATEWAY_OIDC_ISSUER: provider.issuer,
    GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
    GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
    GATEWAY_OIDC_ACCOUNTS: 'first_sight',
  });
  provider.serve(`${gateway.origin}/console/callback`);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const person = (login: string, given: Json = {}) => {
  const email = `${login}@sign-in.test`;
  provider.accounts.set(login, { email, email_verified: true, given_name: 'Ada', ...given });
  return email;
};
const begin = (browser: Browser, returnTo?: string) =>
  browser.ask(
    `${gateway.origin}/console/sign-in/oidc${returnTo === undefined ? '' : `?return_to=${encodeURIComponent(returnTo)}`}`,
  );
/** Up to the callback. */
const authorised = async (browser: Browser, login: string, returnTo?: string) => {
  const begun = await begin(browser, returnTo);
  return browser.authorise(begun.headers.get('location') ?? '', login);
};
const signedIn = async (browser: Browser, login: string, returnTo?: string) =>
  browser.ask(await authorised(browser, login, returnTo));
const whoami = async (browser: Browser): Promise<Json> =>
  (await (await browser.ask(`${gateway.origin}/v1/sessions/current`)).json()) as Json;

test.serial('a person signs in and has the roles of their groups; they go with the groups', async (t) => {
  const email = person('ada', { groups: ['AI Platform'] });
  await ok(gateway, 'POST', '/scim/workspaces', {
    body: { workspace_id: 'default', role: 'manager', scim_group_name: 'ai platform' },
  });
  const browser = new Browser();
  const begun = await begin(browser, '/console/logs?status=429');
  t.is(begun.status, 303);
  const asked = new URL(begun.headers.get('location') ?? '');
  t.is(asked.origin, provider.issuer);
  t.is(asked.searchParams.get('code_challenge_method'), 'S256');
  t.is(asked.searchParams.get('redirect_uri'), `${gateway.origin}/console/callback`);
  t.regex(
    begun.headers.get('set-cookie') ?? '',
    /Path=\/console\/callback; HttpOnly; SameSite=Lax; Max-Age=600/,
  );
  const back = await browser.ask(await browser.authorise(asked.href, 'ada'));
  t.is(back.status, 303, await back.text());
  t.is(back.headers.get('location'), '/console/logs?status=429');
  t.like(await whoami(browser), {
    name: email,
    role: 'member',
    workspaces: [{ slug: 'default', role: 'manager' }],
  });
  person('ada', { groups: [] });
  await signedIn(browser, 'ada');
  t.deepEqual((await ok(gateway, 'GET', `/admin/users?email=${email}`)).total, 1, 'one account');
  const [user] = (await ok(gateway, 'GET', `/admin/users?email=${email}`)).data as Json[];
  t.deepEqual(user?.workspace_ids, []);
  t.false(gateway.logLines.join('').includes(CLIENT.secret));
});

test.serial('Entra says of the domain that it is verified', async (t) => {
  provider.accounts.set('entra', { email: 'entra@sign-in.test', xms_edov: true, groups: ['ai platform'] });
  t.is((await signedIn(new Browser(), 'entra')).status, 303);
});

test.serial('each sign-in has a new session, and the one before ends', async (t) => {
  person('grace', { groups: ['ai platform'] });
  const browser = new Browser();
  const jar = browser.cookies(gateway.origin);
  jar.set('sluice_session', `sls_${'a'.repeat(43)}`);
  await signedIn(browser, 'grace');
  const first = jar.get('sluice_session');
  t.not(first, `sls_${'a'.repeat(43)}`, 'a planted session is not kept');
  await signedIn(browser, 'grace');
  t.not(jar.get('sluice_session'), first);
  const old = new Browser();
  old.cookies(gateway.origin).set('sluice_session', String(first));
  t.is((await old.ask(`${gateway.origin}/v1/sessions/current`)).status, 401);
});

test.serial('attacks: forged state, replayed code, login CSRF, other issuer, unverified mail', async (t) => {
  person('mallory', { groups: ['ai platform'] });
  const refused = async (browser: Browser, url: string, status: number, what: string) => {
    const answer = await browser.ask(url);
    t.is(answer.status, status, what);
    t.false(
      answer.headers.getSetCookie().some((line) => line.includes('sluice_session=')),
      what,
    );
  };
  const forged = new Browser();
  const url = new URL(await authorised(forged, 'mallory'));
  url.searchParams.set('state', 'forged');
  await refused(forged, url.href, 401, 'a forged state');

  const replayed = new Browser();
  const once = await authorised(replayed, 'mallory');
  const kept = replayed.cookies(gateway.origin).get('sluice_sign_in') ?? '';
  t.is((await replayed.ask(once)).status, 303);
  await refused(replayed, once, 401, 'without the cookie, which was used');
  const again = new Browser();
  again.cookies(gateway.origin).set('sluice_sign_in', kept);
  const exchanges = () => provider.asked.filter((path) => path === '/token').length;
  const before = exchanges();
  await refused(again, once, 401, 'a code that was used, with a kept cookie');
  t.is(exchanges(), before, 'the gateway itself takes no sign-in twice');

  const victim = new Browser();
  await refused(victim, await authorised(new Browser(), 'mallory'), 401, 'the callback of another browser');
  await begin(victim);
  await refused(victim, await authorised(new Browser(), 'mallory'), 401, 'the callback of another sign-in');

  const mixed = new Browser();
  const other = new URL(await authorised(mixed, 'mallory'));
  t.is(other.searchParams.get('iss'), provider.issuer);
  other.searchParams.set('iss', 'https://elsewhere.test');
  await refused(mixed, other.href, 401, 'another issuer');

  const tampered = new Browser();
  const whole = await authorised(tampered, 'mallory');
  tampered.cookies(gateway.origin).set('sluice_sign_in', `${kept.split('.')[0]}.${'0'.repeat(64)}`);
  await refused(tampered, whole, 401, 'a cookie that the gateway did not sign');

  person('unverified', { email_verified: false });
  const unverified = new Browser();
  await refused(
    unverified,
    await authorised(unverified, 'unverified'),
    403,
    'an address that is not verified',
  );
  for (const email of ['no address', 'two@at@elsewhere.test', 'a@b\r\nc', '', 7]) {
    provider.accounts.set('odd', { email, email_verified: true });
    const odd = new Browser();
    await refused(odd, await authorised(odd, 'odd'), 403, `${email}`);
  }
  provider.accounts.set('odd', { email: 'odd@sign-in.test', email_verified: false, xms_edov: true });
  const both = new Browser();
  await refused(both, await authorised(both, 'odd'), 403, 'not verified, whatever the domain is');
  await refused(
    new Browser(),
    `${gateway.origin}/console/callback?error=access_denied&state=x`,
    401,
    'an error',
  );
});

test.serial(
  'behind a proxy with TLS the cookies are of this host alone, and pages without TLS are others',
  async (t) => {
    const origin = 'https://gateway.test';
    const proxied = await startGateway({
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
      GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
      GATEWAY_PUBLIC_URL: origin,
    });
    t.teardown(() => proxied.close());
    const begun = await fetch(`${proxied.origin}/console/sign-in/oidc`, { redirect: 'manual' });
    t.is(
      new URL(begun.headers.get('location') ?? '').searchParams.get('redirect_uri'),
      `${origin}/console/callback`,
    );
    const set = begun.headers.get('set-cookie') ?? '';
    t.regex(set, /^__Host-sluice_sign_in=[^;]+; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600; Secure$/);
    const made = await fetch(`${proxied.origin}/v1/sessions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: '{}',
    });
    const cookie = made.headers.get('set-cookie') ?? '';
    t.regex(
      cookie,
      /^__Host-sluice_session=sls_[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=604800; Secure$/,
    );
    const [pair = ''] = cookie.split(';');
    // By node's own client: fetch lets no one name a host.
    const statusOf = (headers: Readonly<Record<string, string>>) =>
      new Promise<number | undefined>((resolve, reject) => {
        const asked = request(
          `${proxied.origin}/v1/sessions`,
          { headers: { cookie: pair, ...headers } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode);
          },
        );
        asked.once('error', reject).end();
      });
    t.is(await statusOf({ origin, host: 'inside.test' }), 200, 'a proxy that renames the host');
    t.is(await statusOf({ origin, host: 'gateway.test' }), 200);
    t.is(await statusOf({ origin: 'http://gateway.test', host: 'gateway.test' }), 401, 'without TLS');
    t.is(await statusOf({ origin: 'https://elsewhere.test', host: 'gateway.test' }), 401);
    t.is(await statusOf({ cookie: pair.replace('__Host-', '') }), 401, 'a cookie that a neighbour may plant');
  },
);

test.serial('a sign-in that fails tells people so, with the way back, and programs in words', async (t) => {
  const ask = (accept: string) =>
    fetch(`${gateway.origin}/console/callback?state=x&error=${encodeURIComponent('<b>')}`, {
      headers: { accept },
      redirect: 'manual',
    });
  const page = await ask('text/html,application/xhtml+xml,*/*;q=0.8');
  t.is(page.status, 401);
  t.is(page.headers.get('content-type'), 'text/html; charset=utf-8');
  t.is(page.headers.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
  const text = await page.text();
  t.regex(text, /<p role="alert">[^<]+<\/p>/);
  t.regex(text, /<a href="\/console">/);
  t.notRegex(text, /<b>|style|<script/);
  const plain = await ask('*/*');
  t.is(plain.status, 401);
  t.regex(plain.headers.get('content-type') ?? '', /^text\/plain/);
  t.notRegex(await plain.text(), /<p/);
});

test.serial('the way back leads into the console alone', async (t) => {
  person('open', { groups: ['ai platform'] });
  for (const elsewhere of [
    'https://elsewhere.test/',
    '//elsewhere.test',
    '/\\elsewhere.test',
    '/console\\@x',
    '/%2f%2felsewhere.test',
    '/console/../v1/keys',
    '/console/%2e%2E/v1/keys',
    '/console/./..//elsewhere.test',
    '/console/signed-out?state=x',
    '\t//elsewhere.test',
    '/console/\n//elsewhere.test',
    '/consoleevil',
    '/v1/keys',
    'javascript:alert(1)',
    '/console/sign-in/oidc',
  ]) {
    const browser = new Browser();
    const back = await signedIn(browser, 'open', elsewhere);
    t.is(back.headers.get('location'), '/console', elsewhere);
  }
});

test.serial('a deactivated person does not sign in, and an account is made for an invited one', async (t) => {
  const email = person('gone', { groups: ['ai platform'] });
  await signedIn(new Browser(), 'gone');
  const scim = new ScimClient(gateway, (await newScimToken(gateway)).token);
  const [user] = (await ok(gateway, 'GET', `/admin/users?email=${email}`)).data as Json[];
  await scim.patch(`/Users/${user?.id}`, { op: 'replace', value: { active: false } });
  t.is((await signedIn(new Browser(), 'gone')).status, 403);

  const invited = person('invited');
  await ok(gateway, 'POST', '/admin/users/invites', {
    body: { email: invited, role: 'member', workspaces: [{ id: 'default', role: 'member' }] },
  });
  const browser = new Browser();
  t.is((await signedIn(browser, 'invited')).status, 303);
  t.like(await whoami(browser), { name: invited, workspaces: [{ slug: 'default', role: 'member' }] });
});

test.serial(
  'a person without a workspace is signed in, and may do nothing until they have one',
  async (t) => {
    const email = person('placeless');
    const browser = new Browser();
    t.is((await signedIn(browser, 'placeless')).status, 303);
    t.like(await whoami(browser), { name: email, role: 'member', workspaces: [], scopes: [] });
    const ask = async (path: string, workspace?: string) => {
      const cookie = `sluice_session=${browser.cookies(gateway.origin).get('sluice_session')}`;
      const headers = { cookie, ...(workspace === undefined ? {} : { 'x-gateway-workspace-id': workspace }) };
      const answer = await fetch(`${gateway.origin}/v1${path}`, { headers });
      return [answer.status, await answer.text()] as const;
    };
    for (const path of ['/logs', '/models', '/configs', '/admin/users', '/api-keys', '/proxy/models'])
      for (const workspace of [undefined, 'default'])
        t.is((await ask(path, workspace))[0], 403, `${path} ${workspace}`);
    const [, list] = await ask('/sessions');
    t.deepEqual(
      (JSON.parse(list) as { data: Json[] }).data.map(({ name }) => name),
      [email],
      'their own sessions alone',
    );
    const { user_id: userId } = await whoami(browser);
    const body = { users: [{ id: userId, role: 'member' }] };
    await ok(gateway, 'POST', '/admin/workspaces/default/users', { body });
    await eventually('the place', async () => ((await whoami(browser)).workspaces as Json[]).length === 1);
    t.is((await ask('/configs'))[0], 200);
    await ok(gateway, 'POST', '/admin/workspaces', { body: { name: 'Other', slug: 'other' } });
    t.is((await ask('/configs', 'other'))[0], 403, 'a workspace of others ends no session');
    t.is((await ask('/configs'))[0], 200);
  },
);

test.serial('invited only: others have no account', async (t) => {
  const closed = await startIdentityProvider();
  const strict = await startGateway({
    GATEWAY_OIDC_ISSUER: closed.issuer,
    GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
    GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
  });
  t.teardown(async () => {
    await strict.close();
    await closed.close();
  });
  closed.serve(`${strict.origin}/console/callback`);
  closed.accounts.set('stranger', { email: 'stranger@sign-in.test', email_verified: true });
  const browser = new Browser();
  const begun = await browser.ask(`${strict.origin}/console/sign-in/oidc`);
  const back = await browser.ask(await browser.authorise(begun.headers.get('location') ?? '', 'stranger'));
  t.is(back.status, 403);
});

test('without an identity provider in the settings nobody is sent away; half of the settings stop the start', async (t) => {
  const plain = await startGateway();
  t.teardown(() => plain.close());
  const answer = await fetch(`${plain.origin}/console/sign-in/oidc`, { redirect: 'manual' });
  t.is(answer.headers.get('location'), null);
  await t.throwsAsync(startGateway({ GATEWAY_OIDC_ISSUER: 'https://idp.test' }), {
    message: /GATEWAY_OIDC_CLIENT_ID/,
  });
  // Ids may be short, and secrets that are tokens are long.
  const odd = { GATEWAY_OIDC_CLIENT_ID: '7', GATEWAY_OIDC_CLIENT_SECRET: 'x'.repeat(900) };
  const other = await startGateway({ GATEWAY_OIDC_ISSUER: 'https://idp.test', ...odd });
  await other.close();
  const broken = { ...odd, GATEWAY_OIDC_ISSUER: 'https://idp.test', GATEWAY_OIDC_CLIENT_ID: 'a\nb' };
  await t.throwsAsync(startGateway(broken), { message: /GATEWAY_OIDC_CLIENT_ID: must be one line/ });
});
