// Keys and who may call: the rules of operating.md, "Keys", and of the access annotations.

import { createHmac } from 'node:crypto';
import { create } from '@bufbuild/protobuf';
import test from 'ava';
import fc from 'fast-check';
import { AccessSchema, KeyKind as Kind } from '../../gen/gateway/options/v2/options_pb.ts';
import { authenticate } from '../../src/access/authenticate.ts';
import { accessCheck } from '../../src/access/authorize.ts';
import { createKeyHasher, hmacSha256, newApiKey, sameHash } from '../../src/access/key-hash.ts';
import { KeyRing } from '../../src/access/key-ring.ts';
import { INFERENCE_SCOPES, scopesOf } from '../../src/access/scopes.ts';
import type { KeyKind, Principal } from '../../src/call/principal.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { GatewayHeaders, HeaderNames } from '../../src/lib/gateway-headers.ts';
import { readSettings, SettingsError } from '../../src/settings.ts';
import { keyDocument } from '../support/key-document.ts';

const OURS = 'slk_ours_0123456789abcdef';
const OTHER = 'slk_other_0123456789abcdef';
const EXPIRED = 'slk_expired_0123456789abc';
const FOREIGN = 'sk-of-a-provider';
const NOW = 1_000_000;

const principal = (keyId: string, kind: KeyKind = 'workspace-service', scopes: string[] = []): Principal => ({
  organisationId: 'o',
  workspaceId: 'w',
  keyId,
  keyName: keyId,
  kind,
  scopes: new Set(scopes),
});

const hasher = createKeyHasher(new Uint8Array(32).fill(7));
const ring = new KeyRing(hasher);
for (const [key, expiresAt] of [
  [OURS, undefined],
  [OTHER, NOW + 1],
  [EXPIRED, NOW],
] as const)
  ring.replica.apply(keyDocument(hasher, key, principal(key), { expiresAt }));

const ask = (raw: Record<string, string>) =>
  authenticate(new GatewayHeaders(new HeaderNames(['x-gateway-', 'x-alias-']), raw), { keys: ring }, NOW);

const X = 'x-gateway-api-key';
const bearer = (key: string): string => `Bearer ${key}`;

for (const [name, headers, key, credential] of [
  ['its own header', { [X]: OURS }, OURS, undefined],
  ['an alias', { 'x-alias-api-key': OURS }, OURS, undefined],
  ['its own header and a credential', { [X]: OURS, authorization: bearer(FOREIGN) }, OURS, FOREIGN],
  ['its own header and x-api-key', { [X]: OURS, 'x-api-key': FOREIGN }, OURS, FOREIGN],
  ['both, the same key', { [X]: OURS, authorization: bearer(OURS) }, OURS, undefined],
  ['both, another key of ours', { [X]: OURS, authorization: bearer(OTHER) }, OURS, undefined],
  [
    'both, another key of ours, and a credential in x-api-key',
    { [X]: OURS, authorization: bearer(OTHER), 'x-api-key': FOREIGN },
    OURS,
    FOREIGN,
  ],
  ['an expired key of ours as credential', { [X]: OURS, authorization: bearer(EXPIRED) }, OURS, undefined],
  ['authorization', { authorization: bearer(OURS) }, OURS, undefined],
  ['authorization in another case', { authorization: `BEARER   ${OURS} ` }, OURS, undefined],
  ['authorization without scheme', { authorization: OURS }, OURS, undefined],
  ['x-api-key', { 'x-api-key': OURS }, OURS, undefined],
  ['x-api-key and a credential', { 'x-api-key': OURS, authorization: bearer(FOREIGN) }, OURS, FOREIGN],
  [
    'authorization and a credential in x-api-key',
    { authorization: bearer(OURS), 'x-api-key': FOREIGN },
    OURS,
    FOREIGN,
  ],
  ['a key that expires a moment later', { [X]: OTHER }, OTHER, undefined],
] as const) {
  test(`accepted: ${name}`, (t) => {
    const found = ask(headers);
    t.is((found.principal as Principal).keyId, key);
    t.is(found.key, key);
    t.is(found.providerCredential, credential);
  });
}

for (const [name, headers, pattern] of [
  ['nothing', {}, /is needed/],
  ['a stranger’s key', { [X]: FOREIGN }, /not known/],
  ['a stranger’s key beside ours', { [X]: FOREIGN, authorization: bearer(OURS) }, /not known/],
  ['a stranger’s bearer', { authorization: bearer(FOREIGN) }, /not known/],
  ['an expired key', { [X]: EXPIRED }, /expired/],
  ['an expired bearer', { authorization: bearer(EXPIRED) }, /expired/],
  ['an empty header', { [X]: '' }, /not known/],
  ['an empty bearer', { authorization: 'Bearer ' }, /is needed|not known/],
  ['a part of a key', { [X]: OURS.slice(0, -1) }, /not known/],
] as const) {
  test(`refused: ${name}`, (t) => {
    const error = t.throws(() => ask(headers), { instanceOf: GatewayError });
    t.is(error?.reason, 'unauthenticated');
    t.regex(String(error?.message), pattern);
    for (const secret of [OURS, EXPIRED, FOREIGN]) t.false(String(error?.message).includes(secret));
  });
}

test('whatever the headers say, a key of ours is never the provider’s credential', (t) => {
  const values = fc.constantFrom(
    OURS,
    OTHER,
    EXPIRED,
    FOREIGN,
    bearer(OURS),
    bearer(OTHER),
    bearer(FOREIGN),
    '',
  );
  fc.assert(
    fc.property(
      fc.dictionary(fc.constantFrom(X, 'x-alias-api-key', 'authorization', 'x-api-key'), values),
      (headers) => {
        try {
          const { providerCredential } = ask(headers);
          for (const key of [OURS, OTHER, EXPIRED]) t.false(String(providerCredential).includes(key));
        } catch (error) {
          t.is((error as GatewayError).reason, 'unauthenticated');
        }
      },
    ),
  );
});

test('keys are random, hashes keyed', (t) => {
  const keys = new Set(Array.from({ length: 100 }, newApiKey));
  t.is(keys.size, 100);
  for (const key of keys) t.regex(key, /^slk_[A-Za-z0-9_-]{43}$/);
  t.regex(hasher.hash(OURS), /^[0-9a-f]{64}$/);
  t.not(hasher.hash(OURS), createKeyHasher(new Uint8Array(32)).hash(OURS));
  t.true(sameHash(hasher.hash(OURS), hasher.hash(OURS)));
  t.false(sameHash(hasher.hash(OURS), hasher.hash(OTHER)));
  t.false(sameHash('a', 'aa'));
});

test('the keyed hash is HMAC-SHA-256', (t) => {
  fc.assert(
    fc.property(
      fc.uint8Array({ minLength: 1, maxLength: 64 }),
      fc.string({ unit: 'binary' }),
      (secret, text) => {
        t.is(hmacSha256(secret)(text), createHmac('sha256', secret).update(text).digest('hex'));
      },
    ),
  );
});

test('a removed key is not found again, and an older version never comes back', (t) => {
  const own = new KeyRing(hasher);
  const put = (key: string, version: number, status: 'active' | 'archived' = 'active') =>
    own.replica.apply(keyDocument(hasher, key, principal('x'), { version, status }));
  put(OURS, 2);
  t.is(own.find(OURS)?.principal.keyId, 'x');
  put(OTHER, 1);
  t.is(own.find(OTHER), undefined, 'an older version replaced a newer one');
  put(OTHER, 3);
  t.is(own.find(OTHER)?.principal.keyId, 'x');
  t.is(own.find(OURS), undefined, 'the old secret of a rotated key still works');
  put(OTHER, 4, 'archived');
  t.is(own.find(OTHER), undefined);
  put(OTHER, 3);
  t.is(own.find(OTHER), undefined, 'a removed key came back');
});

test('access: kinds and scopes', (t) => {
  const check = accessCheck(
    create(AccessSchema, {
      scopes: ['a.read', 'b.read'],
      kinds: [Kind.WORKSPACE_SERVICE, Kind.WORKSPACE_USER],
    }),
  );
  t.notThrows(() => check(principal('k', 'workspace-service', ['b.read'])));
  t.notThrows(() => check(principal('k', 'workspace-user', ['a.read', 'c'])));
  for (const refused of [
    principal('k', 'organisation-service', ['a.read']),
    principal('k', 'workspace-service', []),
    principal('k', 'workspace-service', ['a.write', 'a.read.more']),
  ]) {
    const error = t.throws(() => check(refused), { instanceOf: GatewayError });
    t.is(error?.reason, 'forbidden');
  }
  const any = accessCheck(create(AccessSchema, { scopes: ['a.read'] }));
  t.notThrows(() => any(principal('k', 'organisation-service', ['a.read'])));
  const nobody = accessCheck(create(AccessSchema, {}));
  t.throws(() => nobody(principal('k', 'organisation-service', ['a.read'])), { instanceOf: GatewayError });
});

test('scopes: who may hold what', (t) => {
  t.false(scopesOf('organisation-service').includes('completions.write'));
  t.true(scopesOf('organisation-service').includes('logs.list'));
  t.false(scopesOf('workspace-user').includes('organisation_service_api_keys.create'));
  t.true(scopesOf('workspace-user').includes('workspace_user_api_keys.create'));
  for (const scope of INFERENCE_SCOPES) t.true(scopesOf('workspace-service').includes(scope), scope);
  t.false(INFERENCE_SCOPES.includes('logs.list'));
});

for (const [name, env, read] of [
  ['HOST', { HOST: '0.0.0.0' }, (s) => s.host === '0.0.0.0'],
  ['PORT', { PORT: '0' }, (s) => s.port === 0],
  ['an empty variable', { PORT: '' }, (s) => s.port === 8787],
  ['GATEWAY_BODY_LIMIT', { GATEWAY_BODY_LIMIT: '2 MiB' }, (s) => s.bodyLimit === 2 * 1024 * 1024],
  ['GATEWAY_BODY_LIMIT in bytes', { GATEWAY_BODY_LIMIT: '4096' }, (s) => s.bodyLimit === 4096],
  [
    'the default limit',
    {},
    (s) => s.bodyLimit === 25 * 1024 * 1024 && s.host === '127.0.0.1' && s.dataDir === '.data',
  ],
  ['GATEWAY_CORS_ORIGINS', { GATEWAY_CORS_ORIGINS: '*' }, (s) => s.corsOrigins[0] === '*'],
  [
    'GATEWAY_HEADER_PREFIXES',
    { GATEWAY_HEADER_PREFIXES: 'X-Gateway-, x-portkey-' },
    (s) => s.headerPrefixes.join() === 'x-gateway-,x-portkey-',
  ],
  [
    'GATEWAY_ENCRYPTION_KEY',
    { GATEWAY_ENCRYPTION_KEY: Buffer.alloc(32, 1).toString('base64') },
    (s) => s.encryptionKey?.length === 32,
  ],
] as readonly (readonly [
  string,
  Record<string, string>,
  (s: ReturnType<typeof readSettings>) => boolean,
])[]) {
  test(`settings: ${name}`, (t) => {
    const settings = readSettings(env);
    t.true(read(settings));
    t.true(Object.isFrozen(settings));
  });
}

for (const [variable, value] of [
  ['PORT', '-1'],
  ['PORT', '80a'],
  ['GATEWAY_BODY_LIMIT', '1'],
  ['GATEWAY_BODY_LIMIT', '3 GiB'],
  ['GATEWAY_CORS_ORIGINS', 'app.example.com'],
  ['GATEWAY_CORS_ORIGINS', 'https://app.example.com/'],
  ['GATEWAY_HEADER_PREFIXES', 'x-gateway'],
  ['GATEWAY_HEADER_PREFIXES', 'x-gateway-,x-gateway-'],
  ['GATEWAY_MAX_IN_FLIGHT', '1.5'],
  ['GATEWAY_ENCRYPTION_KEY', '!!!!'],
  ['GATEWAY_API_KEY', 'x'.repeat(513)],
  ['GATEWAY_WORKERS', '2'],
  ['GATEWAY_WORKERS', '0'],
  ['TLS_KEY_PATH', '/nowhere.pem'],
] as const) {
  test(`settings: ${variable}=${value.slice(0, 30)} is refused by name`, (t) => {
    const error = t.throws(() => readSettings({ [variable]: value }), { instanceOf: SettingsError });
    t.true(error?.message.includes(variable));
  });
}
