// default.jwt: with real keys and a key set served over HTTP.
import test, { type ExecutionContext } from 'ava';
import { type CryptoKey, exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose';
import type { JsonObject } from '../../src/checks/view/traffic.ts';
import { answerJson, bench, call, faultsOf, listen, runOne } from './try-out.ts';

interface Keys {
  readonly privateKey: CryptoKey;
  readonly jwk: object;
}

async function keysOf(kid: string, alg = 'RS256'): Promise<Keys> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  return { privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } };
}

function token({ privateKey }: Keys, kid: string, claims: JWTPayload = {}, alg = 'RS256'): Promise<string> {
  const iat = Math.floor(Date.now() / 1000);
  return new SignJWT({ iat, exp: iat + 600, ...claims }).setProtectedHeader({ alg, kid }).sign(privateKey);
}

const first = await keysOf('one');
const second = await keysOf('two');
const elliptic = await keysOf('ec', 'ES256');

async function check(t: ExecutionContext, headers: Record<string, string>, parameters: JsonObject) {
  const jwks = { keys: [first.jwk, elliptic.jwk] };
  return runOne(bench(t), call({ headers }), 'jwt', {
    ...(parameters.jwksUri ? {} : { jwks }),
    ...parameters,
  });
}

const bearer = async (text: string | Promise<string>) => ({ authorization: `Bearer ${await text}` });

test('the header is found whatever the parameter’s letters', async (t) => {
  const good = await token(first, 'one');
  for (const headerKey of [undefined, 'Authorization', 'AUTHORIZATION', 'authorization']) {
    const result = await check(t, await bearer(good), headerKey === undefined ? {} : { headerKey });
    t.is(result.error, undefined);
    t.true(result.verdict, String(headerKey));
  }
  t.true((await check(t, { 'x-user-token': good }, { headerKey: 'X-User-Token' })).verdict);
  const none = await check(t, {}, {});
  t.deepEqual([none.verdict, none.data?.explanation], [false, 'Missing authorization header']);
});

test('tokens that must not pass', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const [head = '', body = ''] = (await token(first, 'one')).split('.');
  const none = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${body}.`;
  const rows: readonly (readonly [string, string | Promise<string>, JsonObject])[] = [
    ['expired', token(first, 'one', { exp: now - 60 }), {}],
    ['too old', token(first, 'one', { iat: now - 90_000, exp: now + 60 }), {}],
    ['too old for the parameter', token(first, 'one', { iat: now - 120 }), { maxTokenAge: '1m' }],
    ['not before', token(first, 'one', { nbf: now + 60 }), {}],
    ['another key', token(second, 'one'), {}],
    ['unknown key id', token(second, 'two'), {}],
    ['no signature', none, {}],
    ['cut', `${head}.${body}`, {}],
    ['nonsense', 'a.b.c', {}],
    ['algorithm not allowed', token(elliptic, 'ec', {}, 'ES256'), {}],
    ['issuer', token(first, 'one', { iss: 'other' }), { issuer: 'me' }],
    ['audience', token(first, 'one', { aud: ['other'] }), { audience: ['me'] }],
    ['claim missing', token(first, 'one'), { requiredClaims: ['sub'] }],
    ['claim value', token(first, 'one', { role: 'user' }), { claimValues: { role: { values: ['admin'] } } }],
    [
      'claim list',
      token(first, 'one', { groups: ['a'] }),
      { claimValues: { groups: { values: ['a', 'b'], matchType: 'containsAll' } } },
    ],
  ];
  for (const [what, text, parameters] of rows) {
    const result = await check(t, await bearer(text), parameters);
    t.is(result.error, undefined, what);
    t.false(result.verdict, what);
    t.notRegex(JSON.stringify(result), new RegExp(body.slice(0, 30)), what);
  }
});

test('tokens that pass', async (t) => {
  const now = Math.floor(Date.now() / 1000);
  const rows: readonly (readonly [string | Promise<string>, JsonObject])[] = [
    [token(first, 'one', { exp: now - 3 }), {}],
    [token(first, 'one', { iat: now - 90_000 }), { maxTokenAge: '2d' }],
    [token(elliptic, 'ec', {}, 'ES256'), { algorithms: ['RS256', 'ES256'] }],
    [
      token(first, 'one', { iss: 'me', aud: 'us', sub: 'x' }),
      { issuer: ['me'], audience: 'us', requiredClaims: ['sub'] },
    ],
    [
      token(first, 'one', { groups: ['a', 'b'] }),
      { claimValues: { groups: { values: ['a', 'b'], matchType: 'containsAll' } } },
    ],
    [
      token(first, 'one', { mail: 'x@corp.example' }),
      { claimValues: { mail: { values: '^.{1,20}@corp\\.example$', matchType: 'regex' } } },
    ],
  ];
  for (const [text, parameters] of rows) {
    t.true((await check(t, await bearer(text), parameters)).verdict, JSON.stringify(parameters));
  }
});

test('the header of a token and its claims must agree where it is asked', async (t) => {
  const verdict = async (claims: JWTPayload) =>
    (await check(t, await bearer(token(first, 'one', claims)), { headerPayloadMatch: ['kid'] })).verdict;
  t.true(await verdict({ kid: 'one' }));
  t.false(await verdict({ kid: 'two' }));
  t.false(await verdict({}));
});

test('claims are added to the caller’s headers', async (t) => {
  const claims = { sub: 'u1', tenant_id: 7, groups: ['a', 'b'], name: 'Zoë', __proto__: null };
  const parameters = { extractClaims: ['sub', 'tenant_id', 'groups', 'name', 'absent', 'toString'] };
  const { run } = await check(t, await bearer(token(first, 'one', claims)), parameters);
  t.deepEqual(run.headers, {
    'x-jwt-sub': 'u1',
    'x-jwt-tenant-id': '7',
    'x-jwt-groups': 'a,b',
    // Nobody else may say what the token does not.
    'x-jwt-name': '',
    'x-jwt-absent': '',
    'x-jwt-tostring': '',
  });
  const own = await check(t, await bearer(token(first, 'one', claims)), {
    ...parameters,
    claimPrefix: 'X-My-Jwt-',
  });
  t.is(own.run.headers['x-my-jwt-sub'], 'u1');
  const bad = await check(t, await bearer(token(second, 'one', claims)), parameters);
  t.deepEqual(bad.run.headers, {});
  t.regex(
    faultsOf('input', { jwt: { jwks: { keys: [] }, claimPrefix: 'x-api-' } })[0] ?? '',
    /claimPrefix: must begin/,
  );
});

test('an authorisation server is asked about tokens, and its word kept for no longer than they live', async (t) => {
  let now = Date.now();
  const checks = bench(t, { clock: { now: () => now } });
  let answer: object = { active: true, sub: 'u1', scope: 'read write', exp: Math.floor(now / 1000) + 60 };
  const { url, asked } = await listen(t, (_, response) => answerJson(response, answer));
  const run = async (parameters: JsonObject = {}, text = 'opaque-token') =>
    runOne(checks, call({ headers: await bearer(text) }), 'jwt', { introspectEndpoint: url, ...parameters });
  const well = await run({
    introspectHeaders: { authorization: 'Basic Z2F0ZXdheQ==' },
    requiredClaims: ['sub'],
    claimValues: { scope: { values: ['read', 'write'], matchType: 'containsAll' } },
    extractClaims: ['sub'],
  });
  t.true(well.verdict);
  t.deepEqual(well.run.headers, { 'x-jwt-sub': 'u1' });
  t.is(asked[0]?.body, 'token=opaque-token');
  t.is(asked[0]?.headers['content-type'], 'application/x-www-form-urlencoded');
  t.is(asked[0]?.headers.authorization, 'Basic Z2F0ZXdheQ==');
  t.notRegex(JSON.stringify(well), /opaque-token|Z2F0ZXdheQ/);
  await run({ introspectContentType: 'application/json' });
  t.is(asked[1]?.body, '{"token":"opaque-token"}');
  const kept = { introspectCacheMaxAge: 300 };
  await run(kept);
  await run(kept);
  t.is(asked.length, 3);
  await run(kept, 'another-token');
  t.is(asked.length, 4);
  now += 70_000;
  t.false((await run(kept)).verdict);
  t.is(asked.length, 5);
  answer = { active: false };
  t.false((await run()).verdict);
  answer = { active: true, iss: 'other', aud: ['us'] };
  t.false((await run({ issuer: 'me' })).verdict);
  t.true((await run({ issuer: 'other', audience: 'us' })).verdict);
  t.false((await run({ requiredClaims: ['sub'] })).verdict);
  answer = { nothing: true };
  const odd = await run();
  t.deepEqual([odd.verdict, odd.error?.name], [false, 'InvalidResponseError']);
});

test('a key set is fetched once, kept, and asked for again when a key is unknown', async (t) => {
  let now = Date.now();
  const checks = bench(t, { clock: { now: () => now } });
  const served = { keys: [first.jwk] };
  const { url, asked } = await listen(t, (_, response) => answerJson(response, served));
  const verdict = async (text: string) =>
    (await runOne(checks, call({ headers: await bearer(text) }), 'jwt', { jwksUri: url })).verdict;
  const [good, later] = [await token(first, 'one'), await token(second, 'two')];
  t.deepEqual(await Promise.all([good, good, good].map(verdict)), [true, true, true]);
  t.is(asked.length, 1);
  // A stranger with made-up key ids does not make the gateway ask all the time.
  t.false(await verdict(later));
  t.is(asked.length, 1);
  served.keys.push(second.jwk);
  now += 31_000;
  t.true(await verdict(later));
  t.is(asked.length, 2);
  t.is(asked[0]?.headers.authorization, undefined);
});

test('when the keys cannot be had nobody is let in, unless it was said', async (t) => {
  const checks = bench(t);
  const { url } = await listen(t, ({ path }, response) =>
    answerJson(response, { keys: 'none' }, path === '/500' ? 500 : 200),
  );
  const headers = await bearer(token(first, 'one'));
  for (const [jwksUri, name] of [
    [`${url}/500`, 'CallFailedError'],
    [url, 'InvalidResponseError'],
    ['http://127.0.0.1:1', 'CallFailedError'],
  ]) {
    const closed = await runOne(checks, call({ headers }), 'jwt', { jwksUri });
    t.deepEqual([closed.verdict, closed.error?.name, closed.fail_on_error], [false, name, true]);
    t.true((await runOne(checks, call({ headers }), 'jwt', { jwksUri, failOnError: false })).verdict);
  }
});

test('parameters that are not well', (t) => {
  t.regex(
    faultsOf('input', { jwt: {} })[0] ?? '',
    /jwt\.jwksUri: is required, or jwks or introspectEndpoint is/,
  );
  t.regex(faultsOf('input', { jwt: { jwks: { keys: 1 } } })[0] ?? '', /jwks: must be a key set/);
  t.regex(
    faultsOf('input', { jwt: { jwks: { keys: [] }, algorithms: ['HS256'] } })[0] ?? '',
    /algorithms\[0\]: must be one of RS256/,
  );
  t.regex(
    faultsOf('input', { jwt: { jwks: { keys: [] }, maxTokenAge: 'soon' } })[0] ?? '',
    /maxTokenAge: must be a span/,
  );
  t.regex(faultsOf('output', { jwt: { jwks: { keys: [] } } })[0] ?? '', /cannot run on the output/);
});
