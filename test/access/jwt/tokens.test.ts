// Tokens: which are taken, under every algorithm, and why others are not.
import { createHmac } from 'node:crypto';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { type CryptoKey, exportSPKI, importJWK, type JWK } from 'jose';
import { ALGORITHMS } from '../../../src/access/jwt/algorithms.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { OTHER_WORKSPACE, type TokenBench, tokenBench, WORKSPACE } from './bench.ts';
import {
  claimsWith,
  ORGANISATION,
  OTHER_ORGANISATION,
  type SigningKey,
  seconds,
  sign,
  signingKey,
} from './issuer.ts';

const benches: TokenBench[] = [];
const bench = (): TokenBench => {
  const one = tokenBench();
  benches.push(one);
  return one;
};
const key = await signingKey('RS256', 'first');
const second = await signingKey('ES256', 'second');
const inline = (...keys: JWK[]) => ({ jwks: { keys: keys as never } });
const pinned = {
  ...inline(key.publicJwk, second.publicJwk),
  issuers: ['https://issuer.test.example'],
  audiences: ['sluice', 'other'],
};

test.after.always(() => Promise.all(benches.map((one) => one.close())));

async function refusal(t: ExecutionContext, answer: unknown, token: string): Promise<GatewayError> {
  const error = await t.throwsAsync(async () => answer as Promise<unknown>, { instanceOf: GatewayError });
  const text = String(error?.message);
  for (const part of token.split('.'))
    if (part.length > 8) t.false(text.includes(part), 'a part of the token is told');
  return error as GatewayError;
}

for (const algorithm of ALGORITHMS) {
  test(`${algorithm}: taken, remembered, and of its organisation's workspace`, async (t) => {
    const { tokens, configure } = bench();
    const own = await signingKey(algorithm);
    configure({ ...inline({ ...own.publicJwk, alg: algorithm, use: 'sig' }), algorithms: [algorithm] });
    const token = await sign(own);
    const first = tokens.principalOf(token);
    t.true(first instanceof Promise);
    const principal = await first;
    t.like(principal, {
      organisationId: ORGANISATION,
      workspaceId: WORKSPACE,
      userId: undefined,
      kind: 'workspace-service',
      keyName: 'person-1',
    });
    t.deepEqual([...principal.scopes], ['completions.write', 'logs.list']);
    t.regex(principal.keyId, /^jwt_[\w-]{32}$/);
    t.is(
      tokens.principalOf(token),
      principal,
      'the second call is answered at once, with the same principal',
    );
    const other = await sign(await signingKey(algorithm, own.kid));
    t.is((await refusal(t, tokens.principalOf(other), other)).message, "the token's signature is not valid");
  });
}

const NOT_VALID: readonly (readonly [string, () => Promise<string>, RegExp])[] = [
  ['an expired token', () => sign(key, claimsWith({ exp: seconds(-61) })), /has expired/],
  ['no expiry', () => sign(key, claimsWith({ exp: undefined })), /no time of expiry/],
  ['an expiry that is no number', () => sign(key, claimsWith({ exp: '9999999999' })), /exp must be a time/],
  ['an expiry beyond all time', () => sign(key, claimsWith({ exp: 1e300 })), /exp must be a time/],
  ['a token of tomorrow', () => sign(key, claimsWith({ nbf: seconds(90) })), /not valid yet/],
  ['issued in the future', () => sign(key, claimsWith({ iat: seconds(90) })), /issued in the future/],
  [
    'another issuer',
    () => sign(key, claimsWith({ iss: 'https://issuer.test.example/' })),
    /issuer .* not accepted/,
  ],
  ['no issuer', () => sign(key, claimsWith({ iss: undefined })), /issuer .* not accepted/],
  ['a list of issuers', () => sign(key, claimsWith({ iss: ['https://issuer.test.example'] })), /issuer/],
  ['another audience', () => sign(key, claimsWith({ aud: ['x', 'Sluice'] })), /audience .* not accepted/],
  ['no audience', () => sign(key, claimsWith({ aud: undefined })), /audience .* not accepted/],
  ['an unknown kid', () => sign(key, claimsWith(), { kid: 'third' }), /signing key .* not found/],
  ['no kid, and two keys', () => sign(key, claimsWith(), { kid: undefined }), /names no signing key/],
  ["another key's kid", () => sign(key, claimsWith(), { kid: 'second' }), /algorithm does not fit/],
  ['no organisation', () => sign(key, claimsWith({ organisation_id: undefined })), /names no organisation/],
  ['an unknown organisation', () => sign(key, claimsWith({ organisation_id: 'nobody' })), /not known/],
  ['no workspace', () => sign(key, claimsWith({ workspace_slug: undefined })), /names no workspace/],
  ['a type that admits nobody', () => sign(key, claimsWith(), { typ: 'logout+jwt' }), /type \(typ\)/],
  [
    'limits that cannot be read',
    () => sign(key, claimsWith({ usage_limits: [{ type: 'cost' }] })),
    /usage_limits\[0\]\.credit_limit/,
  ],
  [
    'rates that cannot be read',
    () => sign(key, claimsWith({ rate_limits: [{ type: 'requests', unit: 'rpx', value: 1 }] })),
    /rate_limits\[0\]\.unit/,
  ],
  [
    'defaults that cannot be read',
    () => sign(key, claimsWith({ defaults: { metadata: { a: 1 } } })),
    /defaults\.metadata/,
  ],
  ['none', () => unsigned({ alg: 'none' }), /algorithm is not accepted/],
  ['none in other letters', () => unsigned({ alg: 'nOnE' }), /algorithm is not accepted/],
  ['no algorithm', () => unsigned({}), /algorithm is not accepted/],
  [
    'a signature left out',
    async () => `${(await sign(key)).split('.').slice(0, 2).join('.')}.`,
    /not signed/,
  ],
  ['the public key as a shared secret', () => confused('HS256'), /algorithm is not accepted/],
  ['a signature over other claims', tampered, /signature is not valid/],
  ['a signature cut short', async () => (await sign(key)).slice(0, -6), /signature is not valid/],
  ['an ECDSA signature of zeros', zeros, /signature is not valid/],
  [
    'an extension that must be understood',
    () => crafted({ alg: 'RS256', kid: 'first', crit: ['x'], x: 1 }),
    /crit/,
  ],
  ['an unencoded payload', () => crafted({ alg: 'RS256', kid: 'first', b64: false }), /crit/],
  ['its own key in the header', ownKey, /signature is not valid/],
  ['a header that is no object', () => crafted([1]), /header cannot be read/],
  [
    'claims that are no object',
    () => sign(key).then((t) => replaced(t, 1, '"text"')),
    /claims cannot be read/,
  ],
  ['a token too long', () => sign(key, claimsWith({ padding: 'x'.repeat(8000) })), /too long/],
];

for (const [name, make, message] of NOT_VALID) {
  test(`401: ${name}`, async (t) => {
    const { tokens, configure } = bench();
    configure(pinned);
    const token = await make();
    const error = await refusal(t, tokens.principalOf(token), token);
    t.regex(error.message, message);
    t.is(error.reason, 'unauthenticated');
    await refusal(t, tokens.principalOf(token), token);
    t.like(
      await tokens.principalOf(await sign(key)),
      { workspaceId: WORKSPACE },
      'a good one is still taken',
    );
  });
}

for (const [name, claims, message] of [
  ['a workspace that is not there', { workspace_slug: 'nowhere' }, /workspace/],
  ["another organisation's workspace", { workspace_slug: OTHER_WORKSPACE }, /workspace/],
  ['a role that is none', { gateway_role: 'owner' }, /role/],
] as const) {
  test(`403: ${name}`, async (t) => {
    const { tokens, configure } = bench();
    configure(pinned);
    const token = await sign(key, claimsWith(claims));
    const error = await refusal(t, tokens.principalOf(token), token);
    t.is(error.reason, 'forbidden');
    t.regex(error.message, message);
  });
}

test('403: an organisation without settings for tokens', async (t) => {
  const { tokens } = bench();
  const token = await sign(key);
  const error = await refusal(t, tokens.principalOf(token), token);
  t.is(error.reason, 'forbidden');
  t.regex(error.message, /JWKS.* not configured/);
});

test('within the skew: just expired, not valid just yet', async (t) => {
  const { tokens, configure } = bench();
  configure(pinned);
  const token = await sign(key, claimsWith({ exp: seconds(-50), nbf: seconds(50), iat: seconds(50) }));
  t.like(await tokens.principalOf(token), { workspaceId: WORKSPACE });
});

test('a skew of its own, and another one', async (t) => {
  const { tokens, configure } = bench();
  const token = await sign(key, claimsWith({ exp: seconds(-5) }));
  configure({ ...pinned, clockSkewSeconds: 0 });
  t.regex((await refusal(t, tokens.principalOf(token), token)).message, /expired/);
  configure({ ...pinned, clockSkewSeconds: 10 });
  t.like(await tokens.principalOf(token), { workspaceId: WORKSPACE });
});

test('a remembered token ends with its time', async (t) => {
  const { tokens, configure, pass } = bench();
  configure(pinned);
  const token = await sign(key, claimsWith({ exp: seconds(30) }));
  const principal = await tokens.principalOf(token);
  pass(80_000);
  t.is(tokens.principalOf(token), principal);
  pass(15_000);
  t.regex((await refusal(t, tokens.principalOf(token), token)).message, /expired/);
});

test('algorithms are pinned by the settings, and by the key', async (t) => {
  const { tokens, configure } = bench();
  const token = await sign(key);
  configure({ ...pinned, algorithms: ['ES256'] });
  t.regex((await refusal(t, tokens.principalOf(token), token)).message, /algorithm is not accepted/);
  configure({ ...pinned, ...inline({ ...key.publicJwk, alg: 'PS256' }) });
  t.regex((await refusal(t, tokens.principalOf(token), token)).message, /does not fit/);
  configure(pinned);
  t.like(await tokens.principalOf(token), { workspaceId: WORKSPACE });
});

test('a single key needs no name', async (t) => {
  const { tokens, configure } = bench();
  const { kid: _, ...nameless } = key.publicJwk;
  configure(inline(nameless));
  t.like(await tokens.principalOf(await sign(key, claimsWith(), { kid: undefined })), {
    workspaceId: WORKSPACE,
  });
});

test('an organisation’s issuer signs for that organisation only', async (t) => {
  const { tokens, configure } = bench();
  const theirs = await signingKey('RS256', 'first');
  configure(pinned);
  configure(inline(theirs.publicJwk), OTHER_ORGANISATION);
  const across = await sign(theirs, claimsWith());
  t.regex((await refusal(t, tokens.principalOf(across), across)).message, /signature is not valid/);
  const own = await sign(theirs, claimsWith({ organisation_id: OTHER_ORGANISATION }));
  t.like(await tokens.principalOf(own), { organisationId: OTHER_ORGANISATION, workspaceId: OTHER_WORKSPACE });
  // The first of two names counts, for picking the keys and for everything after.
  const both = await sign(
    theirs,
    claimsWith({ gateway_oid: ORGANISATION, organisation_id: OTHER_ORGANISATION }),
  );
  t.regex((await refusal(t, tokens.principalOf(both), both)).message, /signature is not valid/);
});

test('settings that change, or go, end what was remembered under them', async (t) => {
  const { tokens, configure } = bench();
  configure(pinned);
  const token = await sign(key);
  await tokens.principalOf(token);
  const older = configure({ ...pinned, audiences: ['another'] });
  t.regex((await refusal(t, tokens.principalOf(token), token)).message, /audience/);
  const current = configure(pinned);
  t.true(tokens.principalOf(token) instanceof Promise, 'verified anew');
  tokens.replica.apply(older);
  t.like(await tokens.principalOf(token), { workspaceId: WORKSPACE }, 'an old version came back');
  tokens.replica.apply({ ...current, status: 'archived', version: current.version + 1 });
  t.is((await refusal(t, tokens.principalOf(token), token)).reason, 'forbidden');
  tokens.replica.apply(current);
  t.is((await refusal(t, tokens.principalOf(token), token)).reason, 'forbidden', 'an old version came back');
});

test('news of new settings may come before news that the old ones went', async (t) => {
  const { tokens, configure } = bench();
  const old = configure({ ...pinned, audiences: ['another'] });
  tokens.replica.apply({ ...old, id: 'successor', version: 1, body: { ...old.body, ...pinned } });
  const token = await sign(key);
  const principal = await tokens.principalOf(token);
  tokens.replica.apply({ ...old, status: 'archived', version: old.version + 1 });
  t.is(tokens.principalOf(token), principal, 'what was remembered stays');
});

test('settings that change while a token is verified have the last word', async (t) => {
  const { tokens, configure } = bench();
  configure(pinned);
  const token = await sign(key);
  const answer = tokens.principalOf(token);
  configure({ ...pinned, audiences: ['another'] });
  t.regex((await refusal(t, answer, token)).message, /audience/);
});

test('one verification for a token that many present at once', async (t) => {
  const { tokens, configure } = bench();
  configure(pinned);
  const token = await sign(key);
  const principals = await Promise.all(Array.from({ length: 50 }, () => tokens.principalOf(token)));
  t.is(new Set(principals).size, 1);
});

test('a flood of forged tokens waits in a bounded line, and leaves others alone', async (t) => {
  const { tokens, configure } = bench();
  configure(inline(second.publicJwk));
  configure(inline(key.publicJwk), OTHER_ORGANISATION);
  const [head, , signature] = (await sign(second)).split('.');
  const forged = Array.from({ length: 600 }, (_, i) => {
    const body = Buffer.from(JSON.stringify(claimsWith({ jti: String(i) }))).toString('base64url');
    return `${head}.${body}.${signature}`;
  });
  const answers = forged.map((token) =>
    Promise.resolve(tokens.principalOf(token)).catch((error: GatewayError) => error),
  );
  const other = await sign(key, claimsWith({ organisation_id: OTHER_ORGANISATION }));
  t.like(await tokens.principalOf(other), { organisationId: OTHER_ORGANISATION });
  const reasons = (await Promise.all(answers)).map((error) => (error as GatewayError).reason);
  t.is(reasons.filter((reason) => reason === 'unauthenticated').length, 256);
  t.is(reasons.filter((reason) => reason === 'overloaded').length, 344);
});

test('a token for this gateway is told from a provider’s', async (t) => {
  const { tokens, configure } = bench();
  configure(pinned);
  t.true(tokens.isOurs(await sign(key)));
  t.true(tokens.isOurs(await sign(key, claimsWith({ exp: 1 }))), 'expired ones, too');
  t.false(
    tokens.isOurs(await sign(key, claimsWith({ organisation_id: OTHER_ORGANISATION }))),
    'it takes no tokens',
  );
  t.false(tokens.isOurs(await sign(key, claimsWith({ organisation_id: undefined }))));
  for (const text of ['', 'ey', 'sk-x', 'eyJ.a.b.c', `eyJh.${'x'.repeat(9000)}.x`, 'eyJh.eyJh.'])
    t.false(tokens.isOurs(text));
});

test('no character of the header or the claims can be changed', async (t) => {
  const { tokens, configure } = bench();
  configure(inline(second.publicJwk));
  const token = await sign(second);
  const signed = token.lastIndexOf('.');
  await fc.assert(
    fc.asyncProperty(fc.nat(signed - 1), fc.constantFrom(...'ABYZaz059-_.'), async (at, letter) => {
      if (token[at] === letter) return;
      const changed = token.slice(0, at) + letter + token.slice(at + 1);
      await t.throwsAsync(async () => tokens.principalOf(changed), { instanceOf: GatewayError });
    }),
    { numRuns: 200 },
  );
});

async function unsigned(header: Record<string, unknown>): Promise<string> {
  return `${part({ kid: 'first', ...header })}.${part(claimsWith())}.`;
}

async function crafted(header: unknown): Promise<string> {
  return `${part(header)}.${part(claimsWith())}.c2lnbmF0dXJl`;
}

/** HMAC with what everybody knows: the key-confusion attack. */
async function confused(alg: string): Promise<string> {
  const pem = await exportSPKI((await importJWK(key.publicJwk, 'RS256', { extractable: true })) as CryptoKey);
  const input = `${part({ alg, kid: 'first', typ: 'JWT' })}.${part(claimsWith())}`;
  return `${input}.${createHmac('sha256', pem).update(input).digest('base64url')}`;
}

async function tampered(): Promise<string> {
  return replaced(await sign(key), 1, JSON.stringify(claimsWith({ scope: 'configs.update' })));
}

async function zeros(): Promise<string> {
  const [head, body] = (await sign(second)).split('.');
  return `${head}.${body}.${Buffer.alloc(64).toString('base64url')}`;
}

async function ownKey(): Promise<string> {
  const stranger: SigningKey = await signingKey('RS256', 'first');
  return sign(stranger, claimsWith(), { jwk: stranger.publicJwk, jku: 'https://stranger.example/jwks' });
}

function replaced(token: string, at: number, text: string): string {
  return token
    .split('.')
    .map((part, i) => (i === at ? Buffer.from(text).toString('base64url') : part))
    .join('.');
}

function part(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}
