// Signing out of the gateway and of the identity provider, by a real OpenID provider, and attacks on the way back.
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import { startGateway, type TestGateway } from '../support/gateway.ts';
import {
  Browser,
  CLIENT,
  type IdentityProvider,
  startIdentityProvider,
} from '../support/identity-provider.ts';

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
  await ok(gateway, 'POST', '/scim/workspaces', {
    body: { workspace_id: 'default', role: 'member', scim_group_name: 'platform' },
  });
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

async function signedIn(login: string, path = '/console/sign-in/oidc'): Promise<Browser> {
  provider.accounts.set(login, {
    email: `${login}@sign-out.test`,
    email_verified: true,
    groups: ['platform'],
  });
  const browser = new Browser();
  const begun = await browser.ask(gateway.origin + path);
  await browser.ask(await browser.authorise(begun.headers.get('location') ?? '', login));
  return browser;
}
/** What the gateway answers to a sign-out. */
const signedOut = async (
  browser: Browser,
): Promise<{ readonly url: URL | undefined; readonly json: Json }> => {
  const answer = await browser.ask(`${gateway.origin}/v1/sessions/current`, { method: 'DELETE' });
  const json = (await answer.json()) as Json;
  return { url: json.sign_out_url === undefined ? undefined : new URL(String(json.sign_out_url)), json };
};
const whoami = async (browser: Browser): Promise<number> =>
  (await browser.ask(`${gateway.origin}/v1/sessions/current`)).status;
/** Whether the identity provider asks who somebody is. */
const isAsked = async (browser: Browser): Promise<boolean> => {
  const begun = await browser.ask(`${gateway.origin}/console/sign-in/oidc`);
  const authorised = await browser.ask(begun.headers.get('location') ?? '');
  return !String(authorised.headers.get('location')).includes('/console/callback');
};
const stored = (given: Json): Json => ({
  name: 'Stored',
  slug: 'stored',
  issuer: provider.issuer,
  client_id: CLIENT.id,
  client_secret: CLIENT.secret,
  ...given,
});

test.serial('a sign-out ends both sessions, and leads back to the console', async (t) => {
  const browser = await signedIn('ada');
  t.false(await isAsked(browser), 'the identity provider has a session');
  const { url } = await signedOut(browser);
  t.is(await whoami(browser), 401);
  t.is(url?.origin, provider.issuer);
  t.is(url?.searchParams.get('client_id'), CLIENT.id);
  t.is(url?.searchParams.get('post_logout_redirect_uri'), `${gateway.origin}/console/signed-out`);
  t.regex(url?.searchParams.get('id_token_hint') ?? '', /^[\w-]+\.[\w-]+\.[\w-]+$/);
  const { back } = await browser.signOut(url?.href ?? '');
  t.is(new URL(back).searchParams.get('state'), url?.searchParams.get('state') ?? '');
  const home = await browser.ask(back);
  t.is(home.status, 303);
  t.is(home.headers.get('location'), '/console');
  t.true(await isAsked(browser), 'the session of the identity provider has ended');
});

test.serial('the token of the sign-in is kept sealed, and shown and logged nowhere', async (t) => {
  const browser = await signedIn('grace');
  const list = JSON.stringify(await ok(gateway, 'GET', '/sessions'));
  const { url } = await signedOut(browser);
  const hint = url?.searchParams.get('id_token_hint') ?? '';
  t.not(hint, '');
  const audit = JSON.stringify(await ok(gateway, 'GET', '/audit-logs?page_size=100'));
  for (const text of [list, audit, gateway.logLines.join('\n')]) t.false(text.includes(hint));
});

test.serial(
  'a state that the gateway did not make leads nowhere, and no address leads elsewhere',
  async (t) => {
    const { url } = await signedOut(await signedIn('alan'));
    const state = url?.searchParams.get('state') ?? '';
    const changed = state.replace(/.$/, (last) => (last === '0' ? '1' : '0'));
    const longer = state.replace(/^./, 'z');
    for (const forged of ['', 'x', changed, longer, `${state}.x`.slice(1), 'x'.repeat(5000)]) {
      const answer = await fetch(`${gateway.origin}/console/signed-out?state=${forged}`, {
        redirect: 'manual',
      });
      t.is(answer.status, 401, forged.slice(0, 80));
      t.is(answer.headers.get('location'), null);
    }
    const extra =
      'return_to=//elsewhere.test&post_logout_redirect_uri=https://elsewhere.test&next=/%5Celsewhere.test';
    const answer = await fetch(`${gateway.origin}/console/signed-out?${extra}&state=${state}`, {
      redirect: 'manual',
    });
    t.is(answer.headers.get('location'), '/console');
  },
);

test.serial('sessions of others, and those of keys, have no identity provider to sign out of', async (t) => {
  const browser = await signedIn('edsger');
  const { data } = (await ok(gateway, 'GET', '/sessions')) as { data: { id: string; name: string }[] };
  const { id } = data.find(({ name }) => name === 'edsger@sign-out.test') ?? { id: '' };
  t.deepEqual(await ok(gateway, 'DELETE', `/sessions/${id}`), {});
  await eventually('the session to end', async () => (await whoami(browser)) === 401);
});

test.serial('where the identity provider is set so, the session of the console ends alone', async (t) => {
  const made = await ok(gateway, 'POST', '/identity-providers', {
    body: stored({ sign_out: 'gateway', accounts: 'first_sight' }),
  });
  t.is(made.post_logout_redirect_uri, `${gateway.origin}/console/signed-out`);
  const path = '/console/sign-in/oidc?provider=stored';
  const browser = await signedIn('barbara', path);
  t.deepEqual((await signedOut(browser)).json, {});
  t.false(await isAsked(browser));
  await ok(gateway, 'PUT', '/identity-providers/stored', { body: { sign_out: 'provider' } });
  await eventually(
    'the change',
    async () => (await signedOut(await signedIn('barbara', path))).url !== undefined,
  );
});

test.serial('an identity provider that is gone keeps nobody signed in', async (t) => {
  const gone = await startIdentityProvider();
  gone.serve(`${gateway.origin}/console/callback`);
  gone.accounts.set('last', { email: 'last@sign-out.test', email_verified: true, groups: ['platform'] });
  const body = stored({ slug: 'gone', issuer: gone.issuer, accounts: 'first_sight' });
  await ok(gateway, 'POST', '/identity-providers', { body });
  const browser = new Browser();
  const begun = await browser.ask(`${gateway.origin}/console/sign-in/oidc?provider=gone`);
  await browser.ask(await browser.authorise(begun.headers.get('location') ?? '', 'last'));
  t.is(await whoami(browser), 200);
  await gone.close();
  // A change makes its client anew: what its discovery document said is forgotten.
  await ok(gateway, 'PUT', '/identity-providers/gone', { body: { name: 'Gone' } });
  const begins = `${gateway.origin}/console/sign-in/oidc?provider=gone`;
  await eventually('the change', async () => (await fetch(begins, { redirect: 'manual' })).status >= 500);
  t.deepEqual((await signedOut(browser)).json, {});
  t.is(await whoami(browser), 401);
});
