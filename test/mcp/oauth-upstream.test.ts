// Users connect to upstreams that want OAuth: discovery, PKCE, tokens of each user, renewal, and attacks on all of it.
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import { jwtVerify } from 'jose';
import type { McpIntegrationBody } from '../../src/access/mcp/mcp-collections.ts';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { type AuthUpstream, startAuthUpstream } from '../support/mcp/auth-upstream.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, signedIn } from '../support/mcp/oauth-person.ts';
import { modern } from '../support/mcp/wire.ts';
import { peopleOf, type Person as User } from '../support/people.ts';

type Json = Record<string, unknown>;
let upstream: AuthUpstream;
let gateway: TestGateway;
let user: User;
let person: Person;
const auth = (more: Partial<McpIntegrationBody> = {}): Partial<McpIntegrationBody> => ({
  authType: 'oauth_auto',
  ...more,
});
const service = { clientId: 'service' };
const KEYS = generateKeyPairSync('ec', { namedCurve: 'P-256' });
test.before(async () => {
  upstream = await startAuthUpstream();
  gateway = await startMcpGateway({
    tools: { url: upstream.url, integration: auth() },
    given: {
      url: upstream.url,
      integration: auth({ oauth: { clientId: 'given-client', issuer: upstream.origin } }),
    },
    // Never connected: no registration of it is kept.
    fresh: { url: upstream.url, integration: auth() },
    strict: { url: upstream.url, integration: auth({ oauth: { issuer: 'https://other.example' } }) },
    machine: {
      url: upstream.url,
      integration: {
        authType: 'oauth_client_credentials',
        oauth: service,
        secrets: { clientSecret: 'a-secret' },
      },
    },
    plain: { url: upstream.url },
    signed: {
      url: upstream.url,
      integration: {
        authType: 'oauth_client_credentials',
        oauth: { clientId: 'signed', authMethod: 'private_key_jwt' },
        secrets: { clientSecret: KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string },
      },
    },
  });
  const people = peopleOf(gateway);
  user = await people.person(gateway.app.tenancy.workspaceId, 'member');
  person = await signedIn(gateway, user.key);
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});
test.beforeEach(() => {
  upstream.odd = {};
});

const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
});
const call = async (key = user.key, slug = 'tools', headers: Record<string, string> = {}) => {
  const answer = await fetch(`${gateway.origin}/${slug}/mcp`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      accept: 'application/json, text/event-stream',
      'content-type': 'application/json',
      ...headers,
    },
    body: hello,
  });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
};
const errorOf = (text: string): Json => (JSON.parse(text) as { error: Json }).error;
/** Begins. @returns where the browser is sent, and its cookies */
const begin = async (who = person, slug = 'tools', query = '') => {
  const answer = await who.post(`${gateway.origin}/oauth/connect/${slug}${query}`, {});
  const cookie = answer.headers
    .getSetCookie()
    .map((line) => line.split(';')[0])
    .join('; ');
  return {
    status: answer.status,
    location: answer.headers.get('location') ?? '',
    cookie,
    text: await answer.text(),
  };
};
const authorised = async (location: string) =>
  (await fetch(location, { redirect: 'manual' })).headers.get('location') ?? '';
const finish = (callback: string, cookie: string, who = person) =>
  who.open(callback, { cookie: `${who.cookie}; ${cookie}` });
const connect = async (who = person, slug = 'tools') => {
  const begun = await begin(who, slug);
  if (begun.status !== 303) throw new Error(begun.text);
  const answer = await finish(await authorised(begun.location), begun.cookie, who);
  if (answer.status !== 200) throw new Error(await answer.text());
};
const connections = async (key = user.key) =>
  (await (
    await fetch(`${gateway.origin}/v1/mcp-servers/tools/connections`, {
      headers: { 'x-gateway-api-key': key },
    })
  ).json()) as {
    data: Json[];
  };

test.serial(
  'without a connection the caller learns where to connect, and never the upstream’s 401',
  async (t) => {
    const { status, text, headers } = await call();
    t.is(status, 200);
    t.is(headers.get('www-authenticate'), null);
    const error = errorOf(text);
    t.is(error.code, -32000);
    t.like(error.data, { reason: 'connection_needed', server: 'tools' });
    const { url } = error.data as Json;
    t.regex(String(url), /\/oauth\/connect\/tools$/);
    t.true(String(error.message).includes(String(url)));
    t.regex(errorOf((await call(WORKSPACE_KEY)).text).message as string, /a key of a user is needed/);
  },
);

test.serial(
  'a user connects: metadata, registration, PKCE, resource; the tokens are used for their calls alone',
  async (t) => {
    const page = await person.open(`${gateway.origin}/oauth/connect/tools`);
    t.is(page.status, 200);
    t.regex(await page.text(), /not connected/);
    const begun = await begin();
    t.is(begun.status, 303);
    const asked = new URL(begun.location);
    t.is(asked.origin + asked.pathname, `${upstream.origin}/authorize`);
    t.is(asked.searchParams.get('code_challenge_method'), 'S256');
    t.is(asked.searchParams.get('resource'), upstream.url);
    t.is(asked.searchParams.get('scope'), 'tools');
    t.is(asked.searchParams.get('redirect_uri'), `${gateway.origin}/oauth/callback`);
    const done = await finish(await authorised(begun.location), begun.cookie);
    t.is(done.status, 200);
    t.is((await call()).status, 200);
    t.false((await call()).text.includes('error'));
    t.like((await connections()).data[0], { user_id: user.id, connected: true });
    const other = await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member');
    t.regex((await call(other.key)).text, /connection_needed/, 'not another user’s');
    t.regex((await call(WORKSPACE_KEY)).text, /a key of a user/);
    t.deepEqual((await connections(other.key)).data, []);
    const registered = upstream.asked.filter(({ path }) => path === '/register').length;
    await connect(await signedIn(gateway, other.key));
    t.is(
      upstream.asked.filter(({ path }) => path === '/register').length,
      registered,
      'one registration for all users',
    );
    t.is((await call(other.key)).status, 200);
    const log = gateway.logLines.join('');
    for (const bearer of upstream.bearers) t.false(log.includes(bearer));
  },
);

test.serial('a client that the integration names is used as it is, at its issuer alone', async (t) => {
  await connect(person, 'given');
  t.is((await call(user.key, 'given')).status, 200);
  const token = upstream.asked.findLast(({ path }) => path === '/token');
  t.is(token?.form.get('client_id'), 'given-client');
  const strict = await begin(person, 'strict');
  t.is(strict.status, 502);
  t.regex(strict.text, /another authorization server/);
});

test.serial(
  'an expired token is renewed once, however many calls want it; refresh tokens rotate',
  async (t) => {
    upstream.odd = { expiresIn: 1 };
    await connect();
    upstream.odd = { delayMs: 200 };
    const before = upstream.asked.length;
    const calls = await Promise.all(Array.from({ length: 12 }, () => call()));
    t.true(calls.every(({ text }) => !text.includes('"error"')));
    const renewals = upstream.asked
      .slice(before)
      .filter(({ form }) => form.get('grant_type') === 'refresh_token');
    t.is(renewals.length, 1);
    t.is(renewals[0]?.form.get('resource'), upstream.url);
  },
);

test.serial(
  'a token that the server does not take any more is renewed, and the call made again',
  async (t) => {
    await connect();
    upstream.valid.clear();
    const { status, text } = await call();
    t.is(status, 200);
    t.false(text.includes('"error"'), text);
  },
);

test.serial('a revoked refresh token: the connection has to be renewed, and shows it', async (t) => {
  await connect();
  upstream.valid.clear();
  upstream.refreshes.clear();
  t.regex((await call()).text, /connection_needed/);
  t.like((await connections()).data[0], { connected: false });
  const before = upstream.asked.length;
  t.regex((await call()).text, /connection_needed/);
  t.is(upstream.asked.length, before, 'it is not asked again');
  await connect();
  t.false((await call()).text.includes('"error"'));
});

test.serial('a session that is open: calls, streams and newer clients learn it, too', async (t) => {
  await connect();
  const opened = await call();
  const session = opened.headers.get('mcp-session-id') ?? '';
  const send = (method: string, body: string | undefined, headers: Record<string, string> = {}) =>
    fetch(`${gateway.origin}/tools/mcp`, {
      method,
      headers: {
        authorization: `Bearer ${user.key}`,
        accept: 'application/json, text/event-stream',
        'content-type': 'application/json',
        'mcp-session-id': session,
        'mcp-protocol-version': '2025-11-25',
        ...headers,
      },
      ...(body === undefined ? {} : { body }),
    });
  const tool = JSON.stringify({
    jsonrpc: '2.0',
    id: 5,
    method: 'tools/call',
    params: { name: 'echo', arguments: { message: 'x' } },
  });
  upstream.valid.clear();
  t.notRegex(await (await send('POST', tool)).text(), /connection_needed/, 'renewed, and called again');
  upstream.valid.clear();
  upstream.refreshes.clear();
  const answer = await send('POST', tool);
  t.is(answer.status, 200);
  const error = errorOf(await answer.text());
  t.like(error, { code: -32000, data: { reason: 'connection_needed' } });
  t.regex(await (await send('GET', undefined)).text(), /connection_needed/);
  const newer = await modern(
    `${gateway.origin}/tools/mcp`,
    'tools/list',
    {},
    { authorization: `Bearer ${user.key}` },
  );
  t.like(newer.json.error, { code: -32000, data: { reason: 'connection_needed' } });
  await connect();
  const listed = await modern(
    `${gateway.origin}/tools/mcp`,
    'tools/list',
    {},
    { authorization: `Bearer ${user.key}` },
  );
  t.true(Array.isArray(listed.json.result?.tools), listed.text);
  upstream.valid.clear();
  const renewed = await modern(
    `${gateway.origin}/tools/mcp`,
    'tools/list',
    {},
    { authorization: `Bearer ${user.key}` },
  );
  t.true(Array.isArray(renewed.json.result?.tools), renewed.text);
});

test.serial('a server that takes none of its tokens is not asked for ever new ones', async (t) => {
  await connect();
  upstream.odd = { noTokens: true };
  const before = upstream.asked.length;
  for (let i = 0; i < 5; i++) t.regex((await call()).text, /connection_needed/);
  const renewals = upstream.asked
    .slice(before)
    .filter(({ form }) => form.get('grant_type') === 'refresh_token');
  t.is(renewals.length, 1);
});

test.serial('an authorization server that is away for a moment costs no connection', async (t) => {
  await connect();
  upstream.valid.clear();
  upstream.odd = { tokens: () => ({ status: 503, body: {} }) };
  t.regex((await call()).text, /cannot be renewed, try again later/);
  upstream.odd = {};
  t.false((await call()).text.includes('"error"'));
});

test.serial('who ends a connection revokes its tokens', async (t) => {
  await connect();
  const before = upstream.asked.length;
  const answer = await fetch(`${gateway.origin}/v1/mcp-servers/tools/connections`, {
    method: 'DELETE',
    headers: { 'x-gateway-api-key': user.key },
  });
  t.is(answer.status, 200);
  t.true(upstream.asked.slice(before).some(({ path }) => path === '/revoke'));
  t.regex((await call()).text, /connection_needed/);
  await connect();
  const others = await fetch(`${gateway.origin}/v1/mcp-servers/tools/connections?user_id=${user.id}`, {
    method: 'DELETE',
    headers: { 'x-gateway-api-key': ADMIN_KEY },
  });
  t.is(others.status, 200);
  t.regex((await call()).text, /connection_needed/);
});

test.serial('attacks on the callback: state, session, issuer, a second use', async (t) => {
  const other = await signedIn(
    gateway,
    (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key,
  );
  const refused = async (callback: string, cookie: string, who = person) => {
    const answer = await finish(callback, cookie, who);
    t.is(answer.status, 401, callback);
    t.regex(await answer.text(), /begin again/);
  };
  const begun = await begin();
  const callback = await authorised(begun.location);
  const changed = (name: string, value: string | null): string => {
    const url = new URL(callback);
    if (value === null) url.searchParams.delete(name);
    else url.searchParams.set(name, value);
    return url.href;
  };
  await refused(changed('state', 'a'.repeat(32)), begun.cookie);
  await refused(changed('state', ''), begun.cookie);
  await refused(callback, '');
  await refused(callback, `${begun.cookie.slice(0, -4)}AAAA`);
  await refused(callback, begun.cookie, other);
  await refused(changed('iss', 'https://evil.example'), begun.cookie);
  await refused(changed('iss', null), begun.cookie);
  t.is((await finish(changed('error', 'access_denied'), begun.cookie)).status, 403);
  t.is((await finish(callback, begun.cookie)).status, 200);
  t.is((await finish(callback, begun.cookie)).status, 502, 'the code was used');
  const away = await fetch(callback, { redirect: 'manual' });
  t.is(away.headers.get('location'), '/console/sign-in');
  const cross = await person.post(
    `${gateway.origin}/oauth/connect/tools`,
    {},
    { origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' },
  );
  t.is(cross.status, 403);
  for (const slug of ['none', 'plain', '%2e%2e', 'tools%00'])
    t.true((await begin(person, slug)).status >= 400, slug);
  t.is((await begin(await signedIn(gateway, WORKSPACE_KEY))).status, 403);
  t.is((await begin(await signedIn(gateway, ADMIN_KEY))).status, 403);
});

test.serial('metadata that lies, leads inside, redirects or has no PKCE is refused', async (t) => {
  const before = upstream.asked.length;
  const tries: [AuthUpstream['odd'], RegExp][] = [
    [{ metadata: { issuer: 'https://evil.example' } }, /another issuer/],
    [{ metadata: { code_challenge_methods_supported: ['plain'] } }, /PKCE/],
    [{ metadata: { code_challenge_methods_supported: undefined } }, /PKCE/],
    [{ metadata: { authorization_endpoint: 'javascript:alert(1)' } }, /cannot be read|must not open/],
    [{ metadata: { registration_endpoint: undefined } }, /client_id/],
    [{ metadata: { registration_endpoint: 'http://10.0.0.1/register' } }, /./],
    [{ metadata: { authorization_endpoint: `http://127.0.0.1/${'x'.repeat(300_000)}` } }, /./],
    [{ resource: { resource: 'https://evil.example/mcp' } }, /another resource/],
    [{ resource: { authorization_servers: ['http://10.0.0.1/'] } }, /./],
    [{ resource: { authorization_servers: ['http://169.254.169.254/'] } }, /./],
    [{ redirect: true }, /redirect/],
  ];
  for (const [odd, why] of tries) {
    upstream.odd = odd;
    const slug = 'given';
    const { status, text } = await begin(
      person,
      odd.metadata !== undefined && 'registration_endpoint' in odd.metadata ? 'fresh' : slug,
    );
    if (odd.metadata !== undefined && 'registration_endpoint' in odd.metadata) t.true(status >= 400);
    else {
      t.true(status >= 400, JSON.stringify(odd));
      t.regex(text, why, JSON.stringify(odd).slice(0, 200));
    }
  }
  t.false(upstream.asked.slice(before).some(({ path }) => path.startsWith('/elsewhere')));
});

test.serial(
  'without metadata of the resource the server’s own origin is the authorization server',
  async (t) => {
    upstream.odd = { noResource: true };
    await connect();
    t.false((await call()).text.includes('"error"'));
  },
);

test.serial('garbage of the token endpoint makes no connection', async (t) => {
  for (const body of [
    {},
    [],
    'x',
    { access_token: '' },
    { access_token: 'a\r\nb', token_type: 'Bearer' },
    { access_token: 7 },
  ]) {
    upstream.odd = { tokens: () => ({ status: 200, body }) };
    const begun = await begin();
    const answer = await finish(await authorised(begun.location), begun.cookie);
    t.is(answer.status, 502, JSON.stringify(body));
  }
});

test.serial('client credentials: one token for all calls, and another when it is refused', async (t) => {
  const asked = () =>
    upstream.asked.filter(({ form }) => form.get('grant_type') === 'client_credentials').length;
  const before = asked();
  const calls = await Promise.all(Array.from({ length: 8 }, () => call(WORKSPACE_KEY, 'machine')));
  t.true(
    calls.every(({ text }) => !text.includes('"error"')),
    calls[0]?.text,
  );
  t.is(asked(), before + 1);
  upstream.valid.clear();
  t.false((await call(WORKSPACE_KEY, 'machine')).text.includes('"error"'));
  t.is(asked(), before + 2);
});

test.serial('client credentials by a signed assertion, for calls and for the control plane', async (t) => {
  const assertions: string[] = [];
  upstream.odd = {
    tokens: (form) => {
      if (form.get('grant_type') !== 'client_credentials') return undefined;
      assertions.push(form.get('client_assertion') ?? '');
      const access_token = `signed-${assertions.length}`;
      upstream.valid.add(access_token);
      return { status: 200, body: { access_token, token_type: 'Bearer', expires_in: 3600 } };
    },
  };
  t.false((await call(WORKSPACE_KEY, 'signed')).text.includes('"error"'));
  const { payload, protectedHeader } = await jwtVerify(assertions[0] ?? '', KEYS.publicKey, {
    issuer: 'signed',
    subject: 'signed',
    audience: upstream.origin,
  });
  t.is(protectedHeader.alg, 'ES256');
  t.truthy(payload.jti);
  t.true(Number(payload.exp) - Number(payload.iat) <= 300);
  const { form, authorization } = upstream.asked.findLast(({ path }) => path === '/token')!;
  t.is(authorization, '');
  t.is(form.get('client_assertion_type'), 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
  t.is(form.get('client_secret'), null);
  const tried = await fetch(`${gateway.origin}/v1/mcp-integrations/upstream-signed/test`, {
    method: 'POST',
    headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
    body: '{}',
  });
  t.like(await tried.json(), { success: true });
});

test.serial(
  'what a signing client may be: keys that sign, named methods, and nothing of a key in answers',
  async (t) => {
    const pem = KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
    const small = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    const send = async (oauth_metadata: Json, more: Json = {}) => {
      const answer = await fetch(`${gateway.origin}/v1/mcp-integrations`, {
        method: 'POST',
        headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
        body: JSON.stringify({
          name: 'Signed',
          url: upstream.url,
          transport: 'http',
          auth_type: 'oauth_client_credentials',
          configurations: { oauth_metadata: { client_id: 'signed', ...oauth_metadata } },
          ...more,
        }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const signs = { token_endpoint_auth_method: 'private_key_jwt' };
    for (const [wrong, more] of [
      [{ ...signs, client_secret: 'no-key' }],
      [{ ...signs, client_secret: KEYS.publicKey.export({ type: 'spki', format: 'pem' }) }],
      [{ ...signs, client_secret: small.export({ type: 'pkcs8', format: 'pem' }) }],
      [{ ...signs, client_secret: pem, token_endpoint_auth_signing_alg: 'RS256' }],
      [{ ...signs, client_secret: pem, token_endpoint_auth_signing_alg: 'none' }],
      [{ client_secret: pem }],
      [{ client_secret: 'plain-secret-0123', token_endpoint_auth_signing_alg: 'ES256' }],
      [{ client_secret: 'plain-secret-0123', token_endpoint_auth_method: 'tls_client_auth' }],
      [{ ...signs, client_secret: pem }, { auth_type: 'oauth_auto' }],
    ] as [Json, Json?][]) {
      const { status, text } = await send(wrong, more);
      t.is(status, 400, text);
      t.notRegex(text, /PRIVATE KEY|no-key/);
    }
    const jwk = JSON.stringify({ ...KEYS.privateKey.export({ format: 'jwk' }), kid: 'k' });
    for (const key of [pem, jwk]) {
      const { status, text } = await send({ ...signs, client_secret: key });
      t.is(status, 200, text);
      const { id } = JSON.parse(text) as Json;
      const shown = await fetch(`${gateway.origin}/v1/mcp-integrations/${id}`, {
        headers: { 'x-gateway-api-key': ADMIN_KEY },
      });
      const all = await shown.text();
      t.regex(all, /private_key_jwt/);
      t.notRegex(all, /PRIVATE KEY|"d"|\\"d\\"/);
    }
  },
);

test.serial('tokens of one address are not sent to another that takes its place', async (t) => {
  await connect();
  const integration = await (
    await fetch(`${gateway.origin}/v1/mcp-integrations/upstream-tools`, {
      headers: { 'x-gateway-api-key': ADMIN_KEY },
    })
  ).json();
  const put = async (url: string) =>
    fetch(`${gateway.origin}/v1/mcp-integrations/${(integration as Json).id}`, {
      method: 'PUT',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify({ url }),
    });
  const before = upstream.tools.seen.length;
  t.is((await put(upstream.tools.url)).status, 200);
  await eventually('the new address counts', async () => /connection_needed/.test((await call()).text));
  t.is(upstream.tools.seen.length, before);
  t.is((await put(upstream.url)).status, 200);
});
