// Two processes on one MongoDB and one Redis: what ends a session over one of them ends it on the other, and what is of one
// use was used on both.
import { randomBytes, randomUUID } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import { type Child, startChild } from '../edge/child.ts';
import { eventually } from '../support/eventually.ts';
import { invitation, type Json, ok } from '../support/front-door.ts';
import { ADMIN_KEY, WORKSPACE_KEY } from '../support/gateway.ts';
import { Browser, CLIENT, startIdentityProvider } from '../support/identity-provider.ts';
import { newScimToken, ScimClient } from '../support/scim-client.ts';
import { mongoServer, redisServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';

const mongo = await mongoServer();
const redis = await redisServer();
/** A session ends everywhere within a second. */
const ENDS_MS = 1000;

interface Person {
  readonly userId: string;
  readonly keyId: string;
  readonly key: string;
  readonly cookie: string;
}

let count = 0;

/** A person with a key, who is signed in over `child`. */
async function signedIn(child: Child): Promise<Person> {
  const { invite_link: link } = await ok(child, 'POST', '/admin/users/invites', {
    body: {
      email: `person-${++count}@instances.test`,
      role: 'member',
      workspaces: [{ id: 'default', role: 'member' }],
      workspace_api_key_details: { scopes: ['logs.list', 'workspaces.read'] },
    },
  });
  const { path, token } = invitation(link);
  const accepted = await ok(child, 'POST', `${path}/accept`, { body: { token } });
  const [{ id, key } = {}] = accepted.api_keys as { id?: string; key?: string }[];
  const answer = await fetch(`${child.origin}/v1/sessions`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': String(key), 'content-type': 'application/json' },
    body: '{}',
  });
  const cookie = (answer.headers.get('set-cookie') ?? '').split(';')[0] ?? '';
  return { userId: String(accepted.user_id), keyId: String(id), key: String(key), cookie };
}

async function statusOf({ origin }: Child, headers: Readonly<Record<string, string>>): Promise<number> {
  const answer = await fetch(`${origin}/v1/sessions/current`, { headers });
  await answer.text();
  return answer.status;
}

/** How each thing ends a session, and whether the key ends with it. */
const ENDS: readonly {
  readonly what: string;
  readonly key: number;
  readonly end: (child: Child, scim: ScimClient, person: Person) => Promise<unknown>;
}[] = [
  {
    what: 'a deleted session',
    key: 200,
    end: async (child, _, { userId }) => ok(child, 'DELETE', `/admin/users/${userId}/sessions`),
  },
  {
    what: 'a revoked key',
    key: 401,
    end: (child, _, { keyId }) => ok(child, 'DELETE', `/api-keys/${keyId}`),
  },
  {
    what: 'another role',
    key: 200,
    end: (child, _, { userId }) => ok(child, 'PUT', `/admin/users/${userId}`, { body: { role: 'admin' } }),
  },
  {
    what: 'a person who is inactive (SCIM)',
    key: 401,
    end: (_, scim, { userId }) =>
      scim.patch(`/Users/${userId}`, { op: 'Replace', path: 'active', value: 'False' }),
  },
  {
    what: 'a person who is deleted (SCIM)',
    key: 401,
    end: (_, scim, { userId }) => scim.send('DELETE', `/Users/${userId}`),
  },
];

if (!mongo || !redis) {
  reportMissing(test, !mongo ? 'MongoDB' : 'Redis');
} else {
  const pair = async (t: ExecutionContext, given: Readonly<Record<string, string>> = {}) => {
    const uri = new URL(mongo.uri);
    uri.pathname = `/sluice_test_${randomUUID().slice(0, 8)}`;
    const env = {
      MONGODB_URI: uri.href,
      REDIS_URL: redis.url,
      GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
      GATEWAY_ADMIN_API_KEY: ADMIN_KEY,
      GATEWAY_API_KEY: WORKSPACE_KEY,
      GATEWAY_EGRESS_ALLOW: '127.0.0.1/32',
      ...given,
    };
    return [await startChild(t, env), await startChild(t, env)] as const;
  };

  test('what ends a session over one process ends it on the other within a second', async (t) => {
    const [one, other] = await pair(t);
    const scim = new ScimClient(one, (await newScimToken(one)).token);
    for (const { what, key, end } of ENDS) {
      const person = await signedIn(one);
      const session = { cookie: person.cookie };
      await eventually('the session on the other', async () => (await statusOf(other, session)) === 200);
      await end(one, scim, person);
      const since = performance.now();
      await eventually('its end on the other', async () => (await statusOf(other, session)) === 401);
      const took = performance.now() - since;
      t.log(`${what}: ${took.toFixed(0)} ms`);
      t.true(took < withSlack(ENDS_MS), `${what}: ${took} ms`);
      t.is(await statusOf(one, session), 401, what);
      const byKey = { 'x-gateway-api-key': person.key };
      await eventually('the key on the other', async () => (await statusOf(other, byKey)) === key);
    }
  });

  test('a sign-in counts once over both processes, and a logout token at one ends the session of the other', async (t) => {
    const provider = await startIdentityProvider();
    t.teardown(() => provider.close());
    const [one, other] = await pair(t, {
      GATEWAY_OIDC_ISSUER: provider.issuer,
      GATEWAY_OIDC_CLIENT_ID: CLIENT.id,
      GATEWAY_OIDC_CLIENT_SECRET: CLIENT.secret,
      GATEWAY_OIDC_ACCOUNTS: 'first_sight',
      // Both are reached by one address, as behind a proxy.
      GATEWAY_PUBLIC_URL: 'http://gateway.test',
    });
    provider.serve('http://gateway.test/console/callback');
    provider.accounts.set('ada', { email: 'ada@instances.test', email_verified: true });
    const browser = new Browser();
    const begun = await browser.ask(`${one.origin}/console/sign-in/oidc`);
    const back = new URL(await browser.authorise(begun.headers.get('location') ?? '', 'ada'));
    const cookie = `sluice_sign_in=${browser.cookies(one.origin).get('sluice_sign_in')}`;
    const calledBack = (child: Child) =>
      fetch(child.origin + back.pathname + back.search, { headers: { cookie }, redirect: 'manual' });
    const answer = await calledBack(one);
    t.is(answer.status, 303, await answer.text());
    const exchanges = () => provider.asked.filter((path) => path === '/token').length;
    const before = exchanges();
    t.is((await calledBack(other)).status, 401);
    t.is(exchanges(), before, 'the other process asks the identity provider nothing');
    const set = answer.headers.getSetCookie().find((line) => line.startsWith('sluice_session=')) ?? '';
    const session = { cookie: set.split(';')[0] ?? '' };
    await eventually('the session on the other', async () => (await statusOf(other, session)) === 200);
    const now = Math.floor(Date.now() / 1000);
    const token = await provider.sign({
      iss: provider.issuer,
      aud: CLIENT.id,
      iat: now,
      exp: now + 120,
      jti: randomUUID(),
      sub: 'ada',
      events: { 'http://schemas.openid.net/event/backchannel-logout': {} },
    });
    const ended = await fetch(`${other.origin}/console/backchannel-logout`, {
      method: 'POST',
      body: new URLSearchParams({ logout_token: token }),
    });
    t.is(ended.status, 200);
    await eventually('its end', async () => (await statusOf(one, session)) === 401);
    const audit = (await ok(one, 'GET', '/audit-logs?resource_type=session&page_size=50')) as Json;
    const verbs = (audit.records as Json[]).map(({ action }) => action);
    t.true(verbs.includes('create') && verbs.includes('delete'), `${verbs}`);
  });
}
