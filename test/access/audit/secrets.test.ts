// No secret gets into an entry, under whatever name it comes.
import test from 'ava';
import { diff } from '../../../src/access/audit/diff.ts';
import { isSecretName, MASKED, maskSecrets, maskText, maskToken } from '../../../src/access/audit/secrets.ts';

for (const name of [
  'key',
  'api_key',
  'apiKey',
  'x-api-key',
  'secret',
  'clientSecret',
  'client_secret',
  'aws_secret_access_key',
  'awsSecretAccessKey',
  'token',
  'accessToken',
  'refresh_token',
  'password',
  'smtpPassword',
  'credentials',
  'Authorization',
  'proxy-authorization',
  'private_key',
  'privateKey',
  'vertex_service_account_json',
  'passphrase',
  'key_value',
]) {
  test(`${name} names a secret`, (t) => t.true(isSecretName(name)));
}

for (const name of [
  'name',
  'key_id',
  'keyName',
  'max_tokens',
  'total_tokens',
  'secret_mappings',
  'secret_reference_id',
  'monkey',
  'tokenizer',
  'api_key_ids',
  'authorization_url',
]) {
  test(`${name} names none`, (t) => t.false(isSecretName(name)));
}

test('a value is masked under a secret name, however deep, and what is around it stays', (t) => {
  const masked = maskSecrets({
    name: 'x',
    auth: { apiKey: 'canary', region: 'eu', list: [{ token: 'canary' }, 'plain'] },
    credentials: { any: 'canary' },
    secret: '',
    token: null,
    tokens: 5,
  });
  t.deepEqual(masked, {
    name: 'x',
    auth: { apiKey: MASKED, region: 'eu', list: [{ token: MASKED }, 'plain'] },
    credentials: MASKED,
    secret: '',
    token: null,
    tokens: 5,
  });
});

for (const secret of [
  'slk_abcdefghijklmnop',
  'sk-proj-abcdefgh1234',
  'AKIAIOSFODNN7EXAMPLE',
  'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
  'Bearer abcdefghijkl',
  '-----BEGIN PRIVATE KEY-----\nabc\n-----END PRIVATE KEY-----',
  'ghp_abcdefghijklmnopqrst',
  'xoxb-1234567890-abc',
]) {
  test(`${secret.slice(0, 12)} is masked wherever it stands`, (t) => {
    t.is(maskText(`before ${secret} after`), `before ${MASKED} after`);
  });
}

test('the beginning of a token is none, and many of them are read once', (t) => {
  for (const text of ['eyJabc and more', 'eyJabc.def', '-eyJ'.repeat(50_000)]) t.is(maskText(text), text);
  t.is(maskText('eyJa.b.'), MASKED);
});

test('the password of an address is masked, the address is not', (t) => {
  t.is(maskText('see https://user:hunter2@host.example/x'), `see https://${MASKED}@host.example/x`);
});

test('of a token that was presented its first and last two characters are told, if it is long enough', (t) => {
  t.is(maskToken('abcdefghijklmnop'), 'ab…op');
  t.is(maskToken('abcdefgh'), MASKED);
});

test('what a condition names under key is no secret', (t) => {
  t.deepEqual(maskSecrets([{ key: 'metadata._user' }, { key: 'api_key' }, { key: 'hunter2' }]), [
    { key: 'metadata._user' },
    { key: 'api_key' },
    { key: MASKED },
  ]);
});

test('a diff names what is different and nothing else', (t) => {
  const before = { name: 'a', same: [1, 2], gone: true, limits: { rpm: 1, rpd: 5 }, api_key: 'one' };
  const after = { name: 'b', same: [1, 2], limits: { rpm: 2, rpd: 5 }, api_key: 'two', tags: { x: 'y' } };
  t.deepEqual(diff(before, after), {
    changes: [
      { path: 'name', before: 'a', after: 'b' },
      { path: 'gone', before: true },
      { path: 'limits.rpm', before: 1, after: 2 },
      { path: 'api_key', before: MASKED, after: MASKED },
      { path: 'tags.x', after: 'y' },
    ],
    truncated: false,
  });
  t.deepEqual(diff(undefined, undefined), { changes: [], truncated: false });
  t.deepEqual(diff({ a: 1 }, undefined).changes, [{ path: 'a', before: 1 }]);
});

test('a diff is bounded and says so', (t) => {
  const many = Object.fromEntries(Array.from({ length: 500 }, (_, i) => [`f${i}`, i]));
  const wide = diff(undefined, many);
  t.is(wide.changes.length, 100);
  t.true(wide.truncated);
  const long = diff(undefined, { text: 'x'.repeat(100_000) });
  t.true(JSON.stringify(long).length < 200);
  t.true(long.truncated);
});
