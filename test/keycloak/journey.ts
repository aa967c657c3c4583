// What people, and those who would like to be them, do at a gateway whose identity provider is Keycloak: over HTTP.
import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../support/eventually.ts';
import { type Json, ok } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';
import { Browser, CLIENT } from '../support/identity-provider.ts';
import type { Keycloak } from './server.ts';

export interface Case {
  readonly name: string;
  /** @returns a figure to print, if there is one. @throws Error for a failure */
  readonly run: () => Promise<string | undefined>;
}

export const PASSWORD = 'made-up';
/** How long a session may stay after its identity provider ended it. */
const LOGOUT_MS = 1000;

export function journey(gateway: TestGateway, keycloak: Keycloak): readonly Case[] {
  const at = (path: string): string => gateway.origin + path;
  const begin = async (browser: Browser, query = ''): Promise<URL> => {
    const begun = await browser.ask(at(`/console/sign-in/oidc${query}`));
    assert.equal(begun.status, 303, await begun.text());
    return new URL(begun.headers.get('location') ?? '');
  };
  /** Up to the callback. */
  const authorised = async (browser: Browser, username: string, query = ''): Promise<URL> =>
    atKeycloak(browser, (await begin(browser, query)).href, username);
  const signedIn = async (username: string, query = '', browser = new Browser()) => {
    const answer = await browser.ask((await authorised(browser, username, query)).href);
    return {
      browser,
      status: answer.status,
      location: answer.headers.get('location'),
      text: await answer.text(),
    };
  };
  const whoami = (browser: Browser) => browser.ask(at('/v1/sessions/current'));
  const refused = async (browser: Browser, url: URL, status: number): Promise<void> => {
    const answer = await browser.ask(url.href);
    assert.equal(answer.status, status, await answer.text());
    assert.equal((await whoami(browser)).status, 401);
  };
  const stored = (slug: string, given: Json) =>
    ok(gateway, 'POST', '/identity-providers', {
      body: {
        name: slug,
        slug,
        issuer: keycloak.issuer,
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        ...given,
      },
    });
  const map = (body: Json) => ok(gateway, 'POST', '/scim/workspaces', { body });

  return [
    {
      name: 'an invited person signs in by code with PKCE (S256), state and nonce, and comes back to the page',
      async run() {
        await map({ workspace_id: 'default', role: 'manager', scim_group_name: 'platform' });
        await map({ role: 'admin', scim_group_name: 'admins' });
        for (const name of ['ada', 'grace', 'barbara', 'unverified'])
          await ok(gateway, 'POST', '/admin/users/invites', {
            body: { email: `${name}@keycloak.test`, role: 'member' },
          });
        const asked = await begin(new Browser());
        for (const name of ['code_challenge', 'state', 'nonce'])
          assert.ok(asked.searchParams.get(name), name);
        assert.equal(asked.searchParams.get('code_challenge_method'), 'S256');
        const { status, location, browser, text } = await signedIn(
          'ada',
          `?return_to=${encodeURIComponent('/console/logs?status=429')}`,
        );
        assert.equal(status, 303, text);
        assert.equal(location, '/console/logs?status=429');
        assert.equal((await whoami(browser)).status, 200);
        return undefined;
      },
    },
    {
      name: 'groups give roles: a manager of a workspace, an admin of the organisation',
      async run() {
        const ada = (await (await whoami((await signedIn('ada')).browser)).json()) as Json;
        const [place] = ada.workspaces as Json[];
        assert.deepEqual([ada.role, place?.slug, place?.role], ['member', 'default', 'manager']);
        const grace = (await (await whoami((await signedIn('grace')).browser)).json()) as Json;
        assert.equal(grace.role, 'admin');
        return undefined;
      },
    },
    {
      name: 'invited only: a stranger has no account',
      async run() {
        const { status, text, browser } = await signedIn('stranger');
        assert.equal(status, 403, text);
        assert.equal((await whoami(browser)).status, 401);
        return undefined;
      },
    },
    {
      name: 'an email address that is not verified is refused, also of an invited person',
      async run() {
        const browser = new Browser();
        await refused(browser, await authorised(browser, 'unverified'), 403);
        return undefined;
      },
    },
    {
      name: 'on first sight: the stranger has an account by an identity provider that is set so',
      async run() {
        await stored('first-sight', { accounts: 'first_sight' });
        const { status, text, browser } = await signedIn('stranger', '?provider=first-sight');
        assert.equal(status, 303, text);
        assert.equal((await whoami(browser)).status, 200);
        const { total } = await ok(gateway, 'GET', '/admin/users?email=stranger@keycloak.test');
        assert.equal(total, 1);
        return undefined;
      },
    },
    {
      name: 'a forged state, a replayed callback, and the callback of another browser are refused',
      async run() {
        const forged = new Browser();
        const url = await authorised(forged, 'ada');
        url.searchParams.set('state', 'forged');
        await refused(forged, url, 401);
        const once = new Browser();
        const callback = await authorised(once, 'ada');
        const kept = once.cookies(gateway.origin).get('sluice_sign_in') ?? '';
        await once.ask(callback.href);
        const again = new Browser();
        again.cookies(gateway.origin).set('sluice_sign_in', kept);
        await refused(again, callback, 401);
        await refused(new Browser(), await authorised(new Browser(), 'ada'), 401);
        return undefined;
      },
    },
    {
      name: 'another issuer is refused: in the answer (iss), and in a discovery document that names another one',
      async run() {
        const mixed = new Browser();
        const url = await authorised(mixed, 'ada');
        assert.equal(url.searchParams.get('iss'), keycloak.issuer);
        url.searchParams.set('iss', `${keycloak.origin}/realms/master`);
        await refused(mixed, url, 401);
        // The same server by another name: its discovery document names the issuer, and that is not the one that is set.
        const { slug } = await stored('another', {
          issuer: keycloak.issuer.replace('127.0.0.1', 'localhost'),
        });
        const begun = await fetch(at(`/console/sign-in/oidc?provider=${slug}`), { redirect: 'manual' });
        assert.equal(begun.headers.get('location'), null);
        assert.ok(begun.status >= 400, String(begun.status));
        return undefined;
      },
    },
    {
      name: 'a back-channel logout ends its session within a second, and no other',
      async run() {
        const first = (await signedIn('barbara')).browser;
        // Keycloak tells when a session began by the second.
        await sleep(1100);
        const second = (await signedIn('barbara')).browser;
        const admin = await keycloak.admin();
        const [oldest = ''] = await admin.sessionsOf('barbara');
        const before = performance.now();
        await admin.endSession(oldest);
        const told = performance.now();
        await eventually('the end of the session', async () => (await whoami(first)).status === 401);
        const ended = performance.now();
        assert.ok(ended - told <= LOGOUT_MS, `it took ${(ended - told).toFixed(0)} ms`);
        assert.equal((await whoami(second)).status, 200);
        return `${(ended - before).toFixed(0)} ms, ${(told - before).toFixed(0)} of them at Keycloak`;
      },
    },
    {
      name: 'signing out ends the session of Keycloak too, and leads back to the console',
      async run() {
        const { browser } = await signedIn('ada');
        assert.equal(await isAsked(browser, await begin(browser)), false);
        const answer = await browser.ask(at('/v1/sessions/current'), { method: 'DELETE' });
        const { sign_out_url: url } = (await answer.json()) as Json;
        const there = await browser.ask(String(url));
        const back = new URL(there.headers.get('location') ?? '', String(url));
        assert.equal(back.origin + back.pathname, at('/console/signed-out'), await there.text());
        assert.equal((await browser.ask(back.href)).headers.get('location'), '/console');
        assert.equal((await whoami(browser)).status, 401);
        assert.equal(await isAsked(browser, await begin(browser)), true);
        return undefined;
      },
    },
  ];
}

/** Whether Keycloak asks for a password. */
async function isAsked(browser: Browser, url: URL): Promise<boolean> {
  const answer = await browser.ask(url.href);
  return answer.status === 200 && (await answer.text()).includes('kc-form-login');
}

/** Signs in at Keycloak's form, unless it knows the browser. @returns where it sends the browser */
async function atKeycloak(browser: Browser, location: string, username: string): Promise<URL> {
  const answer = await browser.ask(location);
  const direct = answer.headers.get('location');
  if (direct !== null) return new URL(direct);
  const page = await answer.text();
  const action = /action="([^"]+)"/.exec(page)?.[1]?.replaceAll('&amp;', '&');
  assert.ok(action, `Keycloak shows no form: ${answer.status} ${page.slice(0, 300)}`);
  const body = new URLSearchParams({ username, password: PASSWORD, credentialId: '' }).toString();
  const posted = await browser.ask(action, { method: 'POST', body });
  const next = posted.headers.get('location');
  assert.ok(next, `Keycloak does not send the browser back: ${posted.status}`);
  return new URL(next);
}
