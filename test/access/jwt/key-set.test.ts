// Key sets that somebody configures: what is taken, and what is refused under which name.
import { generateKeyPairSync } from 'node:crypto';
import test from 'ava';
import type { JWK } from 'jose';
import { readInlineSet } from '../../../src/access/jwt/key-set.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { signingKey } from './issuer.ts';

const [rsa, ec, ed] = await Promise.all([
  signingKey('RS256', 'rsa'),
  signingKey('ES384', 'ec'),
  signingKey('EdDSA', 'ed'),
]);
const weak = generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }) as JWK;
const k1 = generateKeyPairSync('ec', { namedCurve: 'secp256k1' }).publicKey.export({ format: 'jwk' }) as JWK;

test('public keys are kept, and only what they are made of', (t) => {
  const set = readInlineSet('jwks', {
    keys: [
      { ...rsa.publicJwk, use: 'sig', alg: 'PS256', x5c: ['MIIB'], extra: { a: 1 } },
      ec.publicJwk,
      { ...ed.publicJwk, key_ops: ['verify'] },
      { kty: 'RSA', use: 'enc', alg: 'RSA-OAEP', n: 'whatever', e: 'AQAB' },
      { kty: 'EC', crv: 'P-256', key_ops: ['deriveBits'] },
    ],
  });
  t.deepEqual(set.jwks, [
    { ...rsa.publicJwk, use: 'sig', alg: 'PS256' },
    ec.publicJwk,
    ed.publicJwk,
  ] as never);
});

const { n, e } = rsa.publicJwk;
for (const [name, keys, field] of [
  ['no list', 'x', 'jwks.keys'],
  ['no keys', [], 'jwks.keys'],
  ['keys for other uses only', [{ ...rsa.publicJwk, use: 'enc' }], 'jwks.keys'],
  ['too many', Array(65).fill(rsa.publicJwk), 'jwks.keys'],
  ['a text', ['x'], 'jwks.keys[0]'],
  ['a private RSA key', [rsa.privateJwk], 'jwks.keys[0].d'],
  ['a private EC key', [ec.publicJwk, ec.privateJwk], 'jwks.keys[1].d'],
  ['a private key for encryption', [{ ...rsa.privateJwk, use: 'enc' }], 'jwks.keys[0].d'],
  ['a prime that was left in', [{ ...rsa.publicJwk, p: 'AQAB' }], 'jwks.keys[0].p'],
  ['a shared secret', [{ kty: 'oct', k: 'c2VjcmV0' }], 'jwks.keys[0].k'],
  ['no type', [{ n, e }], 'jwks.keys[0].kty'],
  ['a type of its own', [{ kty: 'AKP', alg: 'ML-DSA-44' }], 'jwks.keys[0].kty'],
  ['an algorithm of another type', [{ ...ec.publicJwk, alg: 'RS256' }], 'jwks.keys[0].alg'],
  ['an algorithm of another curve', [{ ...ec.publicJwk, alg: 'ES256' }], 'jwks.keys[0].alg'],
  ['an algorithm with a shared secret', [{ ...rsa.publicJwk, alg: 'HS256' }], 'jwks.keys[0].alg'],
  ['1024 bits', [weak], 'jwks.keys[0].n'],
  [
    '1024 bits behind zeros',
    [
      {
        ...weak,
        n: Buffer.concat([Buffer.alloc(128), Buffer.from(weak.n ?? '', 'base64url')]).toString('base64url'),
      },
    ],
    'jwks.keys[0].n',
  ],
  ['16384 bits', [{ kty: 'RSA', n: Buffer.alloc(2048, 255).toString('base64url'), e }], 'jwks.keys[0].n'],
  ['no modulus', [{ kty: 'RSA', e }], 'jwks.keys[0].n'],
  ['the exponent 1', [{ kty: 'RSA', n, e: 'AQ' }], 'jwks.keys[0].e'],
  ['an even exponent', [{ kty: 'RSA', n, e: 'BA' }], 'jwks.keys[0].e'],
  ['an endless exponent', [{ kty: 'RSA', n, e: n }], 'jwks.keys[0].e'],
  ['another curve', [k1], 'jwks.keys[0].crv'],
  ['a point that is not on the curve', [{ ...ec.publicJwk, y: ec.publicJwk.x }], 'jwks.keys[0]'],
  ['half a point', [{ kty: 'EC', crv: 'P-384', x: ec.publicJwk.x }], 'jwks.keys[0].y'],
  ['a short Edwards key', [{ kty: 'OKP', crv: 'Ed25519', x: 'AQAB' }], 'jwks.keys[0]'],
  ['an empty kid', [{ ...ec.publicJwk, kid: '' }], 'jwks.keys[0].kid'],
] as const) {
  test(`refused: ${name}`, (t) => {
    const error = t.throws(() => readInlineSet('jwks', { keys }), { instanceOf: GatewayError });
    t.is(error?.reason, 'validation_failed');
    t.is(error?.details.param, field);
    t.false(String(error?.message).includes(String(rsa.privateJwk.d)));
  });
}

test('refused: no set at all', (t) => {
  for (const json of [null, 'x', [], {}])
    t.throws(() => readInlineSet('jwks', json), { instanceOf: GatewayError });
});
