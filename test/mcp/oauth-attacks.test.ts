// Attacks on the authorization server for MCP clients: what a client, another site or another user may not get.
import http from 'node:http';
import test, { type ExecutionContext } from 'ava';
import { eventually } from '../support/eventually.ts';
import { ADMIN_KEY, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { startMcpGateway } from '../support/mcp/mcp-gateway.ts';
import { type Person, pkce, signedIn } from '../support/mcp/oauth-person.ts';
import { startLegacyUpstream, type Upstream } from '../support/mcp/upstreams.ts';
import { post } from '../support/mcp/wire.ts';
import { peopleOf } from '../support/people.ts';

type Json = Record<string, unknown>;
type Query = Record<string, string | undefined>;

let upstream: Upstream;
let gateway: TestGateway;
let person: Person;
let client: string;
let userKey: string;
const REDIRECT = 'https://app.example/back';
test.before(async () => {
  upstream = await startLegacyUpstream();
  gateway = await startMcpGateway(
    {
      tools: { url: upstream.url },
      other: { url: upstream.url },
      closed: { url: upstream.url, server: { defaultUserAccess: 'deny' } },
    },
    { GATEWAY_OAUTH_REGISTRATIONS_PER_SECOND: '1000' },
  );
  userKey = (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key;
  person = await signedIn(gateway, userKey);
  client = await registered([REDIRECT, 'http://127.0.0.1/back', 'my.app:/back']);
});
test.after.always(async () => {
  await gateway?.close();
  await upstream?.close();
});

async function register(body: unknown): Promise<{ status: number; json: Json }> {
  const answer = await fetch(`${gateway.origin}/oauth/register`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, json: (await answer.json()) as Json };
}
async function registered(uris: readonly string[], name = 'App'): Promise<string> {
  const { status, json } = await register({ client_name: name, redirect_uris: uris });
  if (status !== 201) throw new Error(JSON.stringify(json));
  return String(json.client_id);
}
function authorizeUrl(challenge: string, more: Query = {}): string {
  const query: Query = {
    response_type: 'code',
    client_id: client,
    redirect_uri: REDIRECT,
    code_challenge: challenge,
    code_challenge_method: 'S256',
    state: 's',
    scope: 'mcp.invoke',
    resource: `${gateway.origin}/tools/mcp`,
    ...more,
  };
  const given = Object.entries(query).filter((pair): pair is [string, string] => pair[1] !== undefined);
  return `${gateway.origin}/oauth/authorize?${new URLSearchParams(given)}`;
}
async function token(form: Query): Promise<{ status: number; json: Json }> {
  const given = Object.entries(form).filter((pair): pair is [string, string] => pair[1] !== undefined);
  const answer = await fetch(`${gateway.origin}/oauth/token`, {
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: new URLSearchParams(given).toString(),
  });
  return { status: answer.status, json: (await answer.json()) as Json };
}
async function code(more: Query = {}, who = person): Promise<{ code: string; verifier: string }> {
  const { verifier, challenge } = pkce();
  const back = await who.answer(authorizeUrl(challenge, more));
  const made = back.searchParams.get('code');
  if (made === null) throw new Error(back.href);
  return { code: made, verifier };
}
const redeem = (made: { code: string; verifier: string }, more: Query = {}) =>
  token({
    grant_type: 'authorization_code',
    client_id: client,
    redirect_uri: REDIRECT,
    code: made.code,
    code_verifier: made.verifier,
    ...more,
  });
const tokens = async (more: Query = {}, who = person): Promise<Json> => {
  const { status, json } = await redeem(await code(more, who), {
    redirect_uri: more.redirect_uri ?? REDIRECT,
  });
  if (status !== 200) throw new Error(JSON.stringify(json));
  return json;
};
const refresh = (given: unknown, more: Query = {}) =>
  token({ grant_type: 'refresh_token', client_id: client, refresh_token: String(given), ...more });
const hello = JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
});
const call = async (access: unknown, path = '/tools/mcp') =>
  (await post(gateway.origin + path, hello, { authorization: `Bearer ${access}` })).status;

const becomes = async (t: ExecutionContext, access: unknown, status: number) => {
  await eventually(`a call is ${status}`, async () => (await call(access)) === status);
  t.pass();
};

test.serial('a code is redeemed once; the second time ends what the first one gave', async (t) => {
  const made = await code();
  const first = await redeem(made);
  t.is(first.status, 200);
  t.like(first.json, { token_type: 'Bearer', scope: 'mcp.invoke', expires_in: 3600 });
  t.is(await call(first.json.access_token), 200);
  t.like(await redeem(made), { status: 400, json: { error: 'invalid_grant' } });
  t.is(await call(first.json.access_token), 401);
  t.is((await refresh(first.json.refresh_token)).status, 400);
  const both = await code();
  const answers = await Promise.all([redeem(both), redeem(both), redeem(both)]);
  t.true(answers.filter(({ status }) => status === 200).length <= 1, 'at once, too');
});

test.serial(
  'a wrong verifier, another client, another redirect URI and another resource get nothing',
  async (t) => {
    const made = await code();
    const other = await registered([REDIRECT], 'Other');
    for (const more of [
      { code_verifier: pkce().verifier },
      { code_verifier: 'short' },
      { client_id: other },
      { redirect_uri: `${REDIRECT}/` },
      { resource: `${gateway.origin}/other/mcp` },
    ])
      t.is((await redeem(made, more)).status, 400, JSON.stringify(more));
    t.is((await redeem(made, { code_verifier: undefined })).json.error, 'invalid_request');
    t.is((await redeem(made)).status, 200, 'the client itself still can');
  },
);

test.serial('PKCE with S256 is needed, and a resource that the person may use', async (t) => {
  const { challenge } = pkce();
  const refused = async (more: Query, error: string) => {
    const back = await person.answer(authorizeUrl(challenge, more));
    t.is(back.searchParams.get('error'), error, JSON.stringify(more));
    t.is(back.searchParams.get('iss'), gateway.origin);
    t.is(back.searchParams.get('state'), more.state ?? 's');
    t.is(back.searchParams.get('code'), null);
  };
  await refused({ code_challenge: undefined }, 'invalid_request');
  await refused({ code_challenge_method: undefined }, 'invalid_request');
  await refused({ code_challenge_method: 'plain' }, 'invalid_request');
  await refused({ response_type: 'token' }, 'unsupported_response_type');
  await refused({ scope: 'admin everything' }, 'invalid_scope');
  await refused({ prompt: 'none' }, 'access_denied');
  for (const resource of [
    '',
    gateway.origin,
    `${gateway.origin}/none/mcp`,
    `${gateway.origin}/closed/mcp`,
    `${gateway.origin}/v1/models`,
    `${gateway.origin}.evil.example/tools/mcp`,
    'https://evil.example/tools/mcp',
    `${gateway.origin}/tools/mcp?x=1`,
  ])
    await refused({ resource }, 'invalid_target');
  const denied = await person.answer(authorizeUrl(challenge), 'deny');
  t.is(denied.searchParams.get('error'), 'access_denied');
});

test.serial(
  'redirect URIs are exact, but for the port of a loopback address: nothing else is redirected to',
  async (t) => {
    const { challenge } = pkce();
    for (const uri of [
      `${REDIRECT}/x`,
      `${REDIRECT}?x=1`,
      `${REDIRECT}#x`,
      'https://app.example/back/../evil',
      'https://app.example.evil.example/back',
      'https://app.example:444/back',
      'https://APP.example/back',
      'https://app.example@evil.example/back',
      'http://app.example/back',
      'http://127.0.0.1:1/other',
      'http://127.0.0.1@evil.example/back',
      'http://127.0.0.1:80@evil.example/back',
      'http://localhost:1/back',
      'my.app:/other',
      'javascript:alert(1)',
      '',
      undefined,
    ]) {
      const answer = await person.open(authorizeUrl(challenge, { redirect_uri: uri }));
      t.is(answer.status, 400, String(uri));
      t.is(answer.headers.get('location'), null, String(uri));
    }
    const twice = await person.open(`${authorizeUrl(challenge)}&redirect_uri=https%3A%2F%2Fevil.example`);
    t.is(twice.status, 400);
    t.is(
      (await person.open(authorizeUrl(challenge, { redirect_uri: 'http://127.0.0.1:5123/back' }))).status,
      200,
    );
    t.is((await person.open(authorizeUrl(challenge, { redirect_uri: 'my.app:/back' }))).status, 200);
    for (const uris of [
      [],
      undefined,
      ['javascript:alert(1)'],
      ['data:text/html,x'],
      ['http://app.example/back'],
      ['https://a@app.example/'],
      ['https://app.example/#x'],
      ['/back'],
      [7],
      Array.from({ length: 11 }, (_, i) => `https://app.example/${i}`),
      [`https://app.example/${'x'.repeat(1024)}`],
    ])
      t.is((await register({ redirect_uris: uris })).status, 400, JSON.stringify(uris));
  },
);

test.serial(
  'confused deputy: each client is asked for each time, and another site cannot answer for the person',
  async (t) => {
    const { challenge } = pkce();
    await person.answer(authorizeUrl(challenge));
    const again = await person.open(authorizeUrl(challenge));
    t.is(again.status, 200, 'no silent second time');
    const page = await again.text();
    t.true(page.includes('app.example'));
    t.regex(again.headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/);
    t.is(again.headers.get('x-frame-options'), 'DENY');
    const ticket = /name="ticket" value="([^"]+)"/.exec(page)?.[1] ?? '';
    const answer = (headers: Record<string, string>, who = person, given = ticket) =>
      who.post(`${gateway.origin}/oauth/authorize`, { ticket: given, decision: 'allow' }, headers);
    t.is((await answer({ origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' })).status, 403);
    t.is(
      (await answer({}, { ...person, post: (await signedIn(gateway, WORKSPACE_KEY)).post })).status,
      403,
      'another session',
    );
    t.is((await answer({ cookie: '' })).status, 403, 'nobody');
    t.is((await answer({}, person, `${ticket.slice(0, -3)}AAA`)).status, 403, 'made up');
    const name = '<script>alert(1)</script>"><img src=x onerror=alert(1)>\u202e';
    const evil = await registered([REDIRECT], name);
    const shown = await (await person.open(authorizeUrl(challenge, { client_id: evil }))).text();
    t.false(shown.includes('<script') || shown.includes('<img') || shown.includes('\u202e'));
  },
);

test.serial('strangers are led to the sign-in of this gateway, and nowhere else', async (t) => {
  const url = authorizeUrl(pkce().challenge);
  const answer = await fetch(url, { redirect: 'manual' });
  t.is(answer.status, 303);
  const to = new URL(answer.headers.get('location') ?? '', gateway.origin);
  t.is(to.origin + to.pathname, `${gateway.origin}/console/sign-in`);
  t.is(gateway.origin + to.searchParams.get('return_to'), url);
  for (const id of [
    '',
    'made-up',
    'sluice-AAAA',
    `${client}x`,
    'http://app.example/client',
    'https://app.example',
  ])
    t.is((await fetch(authorizeUrl('x', { client_id: id }), { redirect: 'manual' })).status, 400, id);
});

test.serial('a token counts at its server alone, and at nothing else of the gateway', async (t) => {
  const given = await tokens();
  const access = given.access_token;
  t.is(await call(access), 200);
  t.is(await call(access, '/default/tools/mcp'), 200, 'the same server by its other address');
  for (const path of ['/other/mcp', '/mcp', '/closed/mcp', '/none/mcp'])
    t.is(await call(access, path), 401, path);
  const all = (await tokens({ resource: `${gateway.origin}/mcp` })).access_token;
  t.is(await call(all, '/mcp'), 200);
  t.is(await call(all, '/tools/mcp'), 401);
  // A client of 2025-03-26 names no resource: what it gets counts at each server that the person may use.
  const unnamed = await tokens({ resource: undefined });
  for (const path of ['/mcp', '/tools/mcp', '/other/mcp'])
    t.is(await call(unnamed.access_token, path), 200, path);
  for (const path of ['/closed/mcp', '/none/mcp']) t.not(await call(unnamed.access_token, path), 200, path);
  const renewed = await refresh(unnamed.refresh_token, { resource: `${gateway.origin}/tools/mcp` });
  t.is(await call(renewed.json.access_token), 200);
  t.is(
    (await refresh(renewed.json.refresh_token, { resource: 'https://evil.example/mcp' })).json.error,
    'invalid_target',
  );
  for (const [verb, path] of [
    ['GET', '/v1/models'],
    ['GET', '/v1/api-keys'],
    ['GET', '/v1/sessions/current'],
    ['POST', '/v1/sessions'],
    ['POST', '/v1/chat/completions'],
    ['GET', '/v1/oauth-grants'],
  ] as const)
    for (const given of [
      ['authorization', `Bearer ${access}`] as const,
      ['x-gateway-api-key', String(access)] as const,
    ]) {
      const answer = await fetch(gateway.origin + path, {
        method: verb,
        headers: [given, ['content-type', 'application/json']] as [string, string][],
        ...(verb === 'POST' ? { body: '{}' } : {}),
      });
      t.is(answer.status, 401, `${verb} ${path}`);
    }
  const other = String(access).replace(/(?<=^.{10})./, (one) => (one === 'A' ? 'B' : 'A'));
  for (const text of [given.refresh_token, other, `slo_${'A'.repeat(86)}`]) t.is(await call(text), 401);
});

test.serial('refresh tokens rotate; one that comes again ends the grant', async (t) => {
  const first = await tokens();
  const second = (await refresh(first.refresh_token)).json;
  t.is(await call(second.access_token), 200);
  t.is(await call(first.access_token), 200, 'calls under way keep their token until it expires');
  const other = await registered([REDIRECT], 'Thief');
  t.is((await refresh(second.refresh_token, { client_id: other })).status, 400);
  t.is(
    (await refresh(second.refresh_token, { resource: `${gateway.origin}/other/mcp` })).json.error,
    'invalid_target',
  );
  t.like(await refresh(first.refresh_token), { status: 400, json: { error: 'invalid_grant' } });
  t.is(await call(second.access_token), 401);
  t.is((await refresh(second.refresh_token)).status, 400);
});

test.serial('the client, the person and an admin end a grant; open streams end with it', async (t) => {
  const list = async (key: string, query = '') =>
    (await (
      await fetch(`${gateway.origin}/v1/oauth-grants${query}`, { headers: { 'x-gateway-api-key': key } })
    ).json()) as {
      data: Json[];
    };
  const remove = async (key: string, path: string) =>
    (
      await fetch(`${gateway.origin}/v1/oauth-grants${path}`, {
        method: 'DELETE',
        headers: { 'x-gateway-api-key': key },
      })
    ).status;
  const byClient = await tokens();
  const form = new URLSearchParams({ token: String(byClient.access_token), client_id: client });
  const revoked = await fetch(`${gateway.origin}/oauth/revoke`, { method: 'POST', body: form });
  t.is(revoked.status, 200);
  t.is(await call(byClient.access_token), 401);
  t.is((await refresh(byClient.refresh_token)).status, 400);

  const mine = await tokens();
  const opened = await post(`${gateway.origin}/tools/mcp`, hello, {
    authorization: `Bearer ${mine.access_token}`,
  });
  const stream = await fetch(`${gateway.origin}/tools/mcp`, {
    headers: {
      authorization: `Bearer ${mine.access_token}`,
      accept: 'text/event-stream',
      'mcp-session-id': opened.headers.get('mcp-session-id') ?? '',
      'mcp-protocol-version': '2025-11-25',
    },
  });
  t.is(stream.status, 200);
  const [grant] = (await list(userKey)).data;
  t.like(grant, { client_name: 'App', redirect_host: 'app.example', scope: 'mcp.invoke' });
  t.false(JSON.stringify(grant).includes('hash'));
  const stranger = (await peopleOf(gateway).person(gateway.app.tenancy.workspaceId, 'member')).key;
  t.deepEqual((await list(stranger)).data, []);
  t.is(await remove(stranger, `/${grant?.id}`), 404);
  t.is(await remove(userKey, `/${grant?.id}`), 200);
  t.is(await call(mine.access_token), 401);
  const ended = stream.text().then(
    () => true,
    () => true,
  );
  t.true(await ended, 'the stream ends');

  const theirs = await tokens();
  t.true((await list(ADMIN_KEY, `?client_id=${encodeURIComponent(client)}`)).data.length > 0);
  t.is(await remove(ADMIN_KEY, ''), 400);
  t.is(await remove(ADMIN_KEY, `?client_id=${encodeURIComponent(client)}`), 200);
  t.is(await call(theirs.access_token), 401);
  t.deepEqual((await list(ADMIN_KEY)).data, []);
});

test.serial('a grant ends with the user, the role and the key that gave it', async (t) => {
  const people = peopleOf(gateway);
  const { workspaceId } = gateway.app.tenancy;
  const one = await people.person(workspaceId, 'member');
  const who = await signedIn(gateway, one.key);
  const given = await tokens({}, who);
  t.is(await call(given.access_token), 200);
  await people.ok('PUT', `/admin/users/${one.id}`, { role: 'admin' });
  await becomes(t, given.access_token, 401);
  t.is((await refresh(given.refresh_token)).status, 400);

  const left = await people.person(workspaceId, 'member');
  const gone = await tokens({}, await signedIn(gateway, left.key));
  t.is(await call(gone.access_token), 200);
  await people.ok('DELETE', `/admin/workspaces/${workspaceId}/users/${left.id}`);
  await becomes(t, gone.access_token, 401);

  const two = await people.person(workspaceId, 'member');
  const second = await tokens({}, await signedIn(gateway, two.key));
  await people.ok('DELETE', `/admin/users/${two.id}`);
  await becomes(t, second.access_token, 401);

  const service = await people.service(workspaceId);
  const third = await tokens({}, await signedIn(gateway, service));
  const keys = (await people.ok('GET', '/api-keys')) as { data: Json[] };
  const row = keys.data.find(({ name }) => name === 's');
  await people.ok('DELETE', `/api-keys/${row?.id}`);
  await becomes(t, third.access_token, 401);
});

test.serial('an admin key is no person of a workspace: it gets no token', async (t) => {
  const admin = await signedIn(gateway, ADMIN_KEY);
  const back = await admin.answer(authorizeUrl(pkce().challenge));
  t.is(back.searchParams.get('error'), 'invalid_target');
});

test.serial('bad input is a clear error, and nothing of it is kept', async (t) => {
  const send = async (path: string, body: string, type: string, method = 'POST') => {
    const answer = await fetch(gateway.origin + path, {
      method,
      headers: { 'content-type': type },
      ...(method === 'GET' ? {} : { body }),
    });
    return { status: answer.status, text: await answer.text(), headers: answer.headers };
  };
  const FORM = 'application/x-www-form-urlencoded';
  for (const [path, body, type, status] of [
    ['/oauth/token', '', FORM, 400],
    ['/oauth/token', 'grant_type=password&username=a', FORM, 400],
    ['/oauth/token', 'grant_type=authorization_code&grant_type=authorization_code', FORM, 400],
    ['/oauth/token', '{}', 'application/json', 415],
    ['/oauth/token', `grant_type=${'x'.repeat(40_000)}`, FORM, 413],
    ['/oauth/token', 'grant_type=refresh_token&client_id=x&refresh_token=%00%ff', FORM, 400],
    ['/oauth/register', '[]', 'application/json', 400],
    ['/oauth/register', 'null', 'application/json', 400],
    ['/oauth/register', '{', 'application/json', 400],
    ['/oauth/register', '['.repeat(30_000), 'application/json', 400],
    [
      '/oauth/register',
      '{"redirect_uris":["https://a.example/"],"client_name":{"a":1}}',
      'application/json',
      400,
    ],
    [
      '/oauth/register',
      '{"redirect_uris":["https://a.example/"],"grant_types":["implicit"]}',
      'application/json',
      400,
    ],
    ['/oauth/revoke', '', FORM, 400],
    ['/oauth/revoke', 'token=made-up', FORM, 200],
  ] as const) {
    const answer = await send(path, body, type);
    t.is(answer.status, status, `${path} ${body.slice(0, 80)} ${answer.text}`);
    if (status !== 200) t.regex(answer.text, /"error":"/);
  }
  const wrong = await send('/oauth/token', '', FORM, 'GET');
  t.is(wrong.status, 405);
  t.is(wrong.headers.get('allow'), 'POST');
  const metadata = await send('/.well-known/oauth-authorization-server', '', FORM, 'GET');
  t.like(JSON.parse(metadata.text), {
    issuer: gateway.origin,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
  });
  t.is((await send('/.well-known/oauth-authorization-server/elsewhere', '', FORM, 'GET')).status, 404);
  t.is((await send('/.well-known/openid-configuration', '', FORM, 'GET')).status, 200);
});

test.serial('odd hosts, paths and methods are no faults of the gateway', async (t) => {
  const { port } = new URL(gateway.origin);
  const raw = (path: string, host: string, method = 'GET'): Promise<number> =>
    new Promise((resolve, reject) => {
      http
        .request(
          { host: '127.0.0.1', port, path, method, headers: { host, cookie: person.cookie } },
          (answer) => {
            answer.resume();
            resolve(answer.statusCode ?? 0);
          },
        )
        .on('error', reject)
        .end();
    });
  for (const host of ['999.999.999.999', '[', 'a b', '[::1', 'x'.repeat(300), '127.0.0.1:99999'])
    for (const path of [
      '/.well-known/oauth-authorization-server',
      '/oauth/authorize?client_id=x',
      '/oauth/connect/tools',
      '/oauth/connect/%zz',
      '/oauth/callback?state=a',
      '/oauth/client-metadata.json',
      '/.well-known/oauth-protected-resource/tools/mcp',
    ])
      t.true((await raw(path, host)) < 500, `${host} ${path}`);
  for (const method of ['PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS'])
    for (const path of [
      '/oauth/authorize',
      '/oauth/token',
      '/oauth/register',
      '/oauth/revoke',
      '/oauth/callback',
    ])
      t.true((await raw(path, `127.0.0.1:${port}`, method)) < 500, `${method} ${path}`);
});
