// Sign-in by identity providers that are stored, and what ends it.
import { randomUUID } from 'node:crypto';
import test from 'ava';
import type { JWTPayload } from 'jose';
import { eventually } from '../support/eventually.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  Browser,
  CLIENT,
  type IdentityProvider,
  startIdentityProvider,
} from '../support/identity-provider.ts';

let provider: IdentityProvider;
let gateway: TestGateway;
let made: Json;
test.before(async () => {
  provider = await startIdentityProvider();
  gateway = await startGateway();
  provider.serve(`${gateway.origin}/console/callback`);
  made = await ok(gateway, 'POST', '/identity-providers', {
    body: {
      name: 'Okta',
      slug: 'okta',
      issuer: provider.issuer,
      client_id: CLIENT.id,
      client_secret: CLIENT.secret,
      accounts: 'first_sight',
      email_domains: ['Sign-In.test'],
    },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const OKTA = '/console/sign-in/oidc?provider=okta';
const person = (login: string, given: Json = {}) => {
  const email = `${login}@sign-in.test`;
  provider.accounts.set(login, { email, email_verified: true, groups: ['platform'], ...given });
  return email;
};
async function signedIn(login: string, path = OKTA): Promise<{ browser: Browser; status: number }> {
  const browser = new Browser();
  const begun = await browser.ask(gateway.origin + path);
  const back = await browser.ask(await browser.authorise(begun.headers.get('location') ?? '', login));
  await back.text();
  return { browser, status: back.status };
}
const whoami = (browser: Browser) => browser.ask(`${gateway.origin}/v1/sessions/current`);
const mapping = () =>
  send(gateway, 'POST', '/scim/workspaces', {
    body: { workspace_id: 'default', role: 'member', scim_group_name: 'platform' },
  });
const logout = (token: string, to = String(made.backchannel_logout_uri)) =>
  fetch(to, { method: 'POST', body: new URLSearchParams({ logout_token: token }) });
const claims = (given: JWTPayload = {}): JWTPayload => ({
  iss: provider.issuer,
  aud: CLIENT.id,
  iat: Math.floor(Date.now() / 1000),
  exp: Math.floor(Date.now() / 1000) + 120,
  jti: randomUUID(),
  events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
  ...given,
});

test.serial(
  'a stored identity provider is a button of the sign-in page, and people sign in by it',
  async (t) => {
    t.like(made, {
      object: 'identity-provider',
      redirect_uri: `${gateway.origin}/console/callback`,
      sign_in_url: gateway.origin + OKTA,
      email_domains: ['sign-in.test'],
      scopes: 'openid profile email',
      is_enabled: true,
    });
    t.false(JSON.stringify(made).includes(CLIENT.secret));
    const methods = await fetch(`${gateway.origin}/v1/sessions/methods`);
    t.like(await methods.json(), { data: [{ name: 'Okta', path: OKTA }], mail: false });
    await mapping();
    const email = person('ada');
    const { browser, status } = await signedIn('ada');
    t.is(status, 303);
    t.like(await (await whoami(browser)).json(), { name: email, workspaces: [{ slug: 'default' }] });
    t.is((await signedIn('ada', `/console/sign-in/oidc?provider=${made.id}`)).status, 303, 'by id');
  },
);

test.serial('addresses of other domains do not sign in; unknown providers are 404', async (t) => {
  provider.accounts.set('eve', { email: 'eve@elsewhere.test', email_verified: true });
  t.is((await signedIn('eve')).status, 403);
  for (const path of ['provider=none', 'provider=settings', `organisation=${randomUUID()}&provider=okta`, ''])
    t.is((await fetch(`${gateway.origin}/console/sign-in/oidc?${path}`, { redirect: 'manual' })).status, 404);
});

test.serial('a logout token ends the sessions of its subject, once', async (t) => {
  person('grace');
  person('alan');
  const [{ browser: grace }, { browser: alan }] = [await signedIn('grace'), await signedIn('alan')];
  const token = await provider.sign(claims({ sub: 'grace' }));
  const answer = await logout(token);
  t.is(answer.status, 200, await answer.text());
  t.is(answer.headers.get('cache-control'), 'no-store');
  await eventually('the session to end', async () => (await whoami(grace)).status === 401);
  t.is((await whoami(alan)).status, 200, 'others stay');
  const { browser: again } = await signedIn('grace');
  t.is((await logout(token)).status, 200, 'a repeated token is answered');
  t.is((await whoami(again)).status, 200, 'and ends nothing more');
});

test.serial(
  'a session of the identity provider that sign-ins did not tell ends by its subject',
  async (t) => {
    person('barbara');
    const { browser } = await signedIn('barbara');
    t.is((await logout(await provider.sign(claims({ sub: 'barbara', sid: 'its-own' })))).status, 200);
    await eventually('the session to end', async () => (await whoami(browser)).status === 401);
  },
);

test.serial(
  'many people are logged out at once: its keys are read once, and none is turned away',
  async (t) => {
    const before = provider.asked.filter((path) => path === '/jwks').length;
    const tokens = await Promise.all(
      Array.from({ length: 300 }, (_, i) => provider.sign(claims({ sub: `person-${i}` }))),
    );
    const statuses = await Promise.all(tokens.map(async (token) => (await logout(token)).status));
    t.deepEqual([...new Set(statuses)], [200]);
    t.true(provider.asked.filter((path) => path === '/jwks').length <= before + 1);
  },
);

test.serial('logout tokens that do not count end nothing', async (t) => {
  person('kept');
  const { browser } = await signedIn('kept');
  const sub = 'kept';
  const refused: readonly (readonly [string, string])[] = [
    ['none', 'no token'],
    [await provider.sign(claims({ sub, iss: 'https://elsewhere.test' })), 'another issuer'],
    [await provider.sign(claims({ sub, aud: 'another' })), 'another client'],
    [await provider.sign(claims({ sub, nonce: 'x' })), 'a nonce'],
    [await provider.sign(claims({ sub, events: {} })), 'no event'],
    [await provider.sign(claims({ sub, iat: 1 })), 'too old'],
    [await provider.sign(claims()), 'neither subject nor session'],
    [await provider.sign(claims({ sub }), 'at+jwt'), 'another type'],
    [`${(await provider.sign(claims({ sub }))).slice(0, -8)}AAAAAAAA`, 'another signature'],
    ['x'.repeat(10_000), 'too long'],
  ];
  for (const [token, what] of refused) t.is((await logout(token)).status, 400, what);
  const uri = String(made.backchannel_logout_uri);
  t.is((await fetch(uri, { method: 'POST', body: '{}' })).status, 415);
  t.is(
    (await fetch(uri, { method: 'POST', body: new URLSearchParams({ x: 'y'.repeat(20_000) }) })).status,
    413,
  );
  t.is((await whoami(browser)).status, 200);
});

test.serial('a session ends with its identity provider', async (t) => {
  person('last');
  const { browser } = await signedIn('last');
  t.is((await whoami(browser)).status, 200);
  const path = '/identity-providers/okta';
  await ok(gateway, 'PUT', path, { body: { is_enabled: false } });
  await eventually('the session to end', async () => (await whoami(browser)).status === 401);
  t.is((await fetch(gateway.origin + OKTA, { redirect: 'manual' })).status, 404);
  t.like(await (await fetch(`${gateway.origin}/v1/sessions/methods`)).json(), { data: [] });
  await ok(gateway, 'PUT', path, { body: { is_enabled: true } });
  t.is((await signedIn('last')).status, 303);
});
