// What every provider's literal must be, and what its options mean to those who read them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import test from 'ava';
import { isSecretName } from '../../src/access/audit/secrets.ts';
import { authHeaders, bringsCredential } from '../../src/providers/auth/index.ts';
import { allOptions, configOption } from '../../src/providers/catalog/known-options.ts';
import { providers } from '../../src/providers/catalog/registry.ts';
import type { ProviderEntry, Target } from '../../src/providers/dialect.ts';
import { locate, locateRaw, originOf } from '../../src/providers/locate.ts';
import { headersOf, optionsOf } from '../../src/providers/options/index-of.ts';
import { sentHeaders } from '../../src/providers/options/sent.ts';
import { type OptionSpec, text } from '../../src/providers/options/spec.ts';
import { ROOT } from '../architecture/tools.ts';

const FOLDER = join(ROOT, 'src/providers/catalog');
const OUTBOUND = { method: 'POST', path: '/chat', headers: [], body: '' } as const;

const BASE: ProviderEntry = {
  id: 'test',
  name: 'Test',
  dialect: 'openai',
  baseUrl: 'https://api.{region}.example.com/accounts/{account}/ai',
  auth: 'bearer',
  streamUsage: 'unasked',
  options: [
    text('region', { effect: 'address', required: {} }),
    text('account', { effect: 'address', required: {} }),
  ],
};
const targetOf = (provider: ProviderEntry, options: Target['options'], customHost?: string): Target => ({
  provider,
  options,
  customHost,
  apiKey: 'a+key',
  strict: true,
});

test('every literal is in the registry, once', (t) => {
  const literals = readdirSync(FOLDER).filter((name) =>
    /^export const \w+: ProviderEntry/m.test(readFileSync(join(FOLDER, name), 'utf8')),
  );
  t.is(providers.length, literals.length);
  t.deepEqual(providers.map(({ id }) => `${id}.ts`).sort(), literals.sort());
});

test('options of one name have one effect, one type and one set of headers', (t) => {
  const first = new Map<string, OptionSpec>();
  for (const spec of allOptions) {
    const known = first.get(spec.name) ?? spec;
    first.set(spec.name, known);
    t.deepEqual(
      [spec.effect, spec.type, headersOf(spec)],
      [known.effect, known.type, headersOf(known)],
      spec.name,
    );
  }
});

test('options whose names say that they are secrets are kept as secrets', (t) => {
  for (const { name, type, secret = false } of allOptions)
    if (type !== 'headers' && name !== 'aws_s3_object_key') t.is(secret, isSecretName(name), name);
});

test('no alias is another option', (t) => {
  for (const { name, aliases = [] } of allOptions)
    for (const alias of aliases) t.is(configOption(alias)?.name, name, alias);
});

test('a base address takes options, escaped, and no host but its own', (t) => {
  const at = (options: Target['options']) => locate(targetOf(BASE, options), 'chat', OUTBOUND);
  const region = 'eu-1';
  t.deepEqual(at({ region, account: 'a/b ?#' }), {
    origin: 'https://api.eu-1.example.com',
    path: '/accounts/a%2Fb%20%3F%23/ai/chat',
  });
  t.is(originOf(BASE, { region, account: 'x' }), 'https://api.eu-1.example.com');
  for (const bad of ['evil.com/#', 'a/b', 'a@b', 'a:1', '-a', 'a b', 'xn--', '', '%2e'])
    t.throws(() => at({ region: bad, account: 'x' }), { message: /^x-gateway-region: / }, bad);
  for (const bad of ['', '.', '..', '\ud800'])
    t.throws(() => at({ region, account: bad }), { message: /^x-gateway-account: / }, bad);
  t.throws(() => at({ account: 'x' }), { message: /^x-gateway-region: is required for test \(header/ });
  t.is(locate(targetOf(BASE, {}, 'https://own.example'), 'chat', OUTBOUND).origin, 'https://own.example');
});

test('an option is required for its operations, and where another one says so', (t) => {
  const provider: ProviderEntry = {
    ...BASE,
    baseUrl: 'https://h.example',
    options: [
      text('mode', { oneOf: ['key', 'role'] }),
      text('role', {
        required: { when: { option: 'mode', is: ['role'] } },
        pattern: [/^\d+$/, 'must be digits'],
      }),
      text('shape', { required: { operations: ['embeddings'], unless: { option: 'mode', is: ['key'] } } }),
    ],
  };
  const at = (options: Target['options'], operation: 'chat' | 'embeddings' = 'chat') =>
    locate(targetOf(provider, options), operation, OUTBOUND).path;
  t.is(at({}), '/chat');
  t.throws(() => at({ mode: 'role' }), { message: /^x-gateway-role: is required for test \(/ });
  t.throws(() => at({ mode: 'role', role: 'x' }), { message: /^x-gateway-role: must be digits \(/ });
  t.is(at({ mode: 'role', role: '1' }), '/chat');
  t.throws(() => at({}, 'embeddings'), { message: /^x-gateway-shape: is required for test \(/ });
  t.is(at({ mode: 'key' }, 'embeddings'), '/chat');
  t.is(locateRaw(targetOf(provider, {}), '/raw').path, '/raw');
});

test('options become headers and query, and so does a credential', (t) => {
  const provider: ProviderEntry = {
    ...BASE,
    baseUrl: 'https://h.example',
    auth: { query: 'key' },
    options: [
      text('version', { sends: { query: 'v' } }),
      text('extra', { sends: { header: 'x-extra', default: 'drop' } }),
    ],
  };
  const target = targetOf(provider, { version: 'a&b' });
  t.is(locate(target, 'chat', OUTBOUND).path, '/chat?v=a%26b&key=a%2Bkey');
  t.is(locateRaw(target, '/raw?q=1').path, '/raw?q=1&key=a%2Bkey');
  t.deepEqual(sentHeaders(target), ['x-extra', 'drop']);
  t.deepEqual(authHeaders(target), []);
  const keyed = targetOf({ ...provider, auth: { header: 'authorization', prefix: 'Key ' } }, {});
  t.deepEqual(authHeaders(keyed), ['authorization', 'Key a+key']);
  t.is(locate(keyed, 'chat', OUTBOUND).path, '/chat');
  const broken = targetOf(provider, { extra: 'a\r\nb: c' });
  t.throws(() => sentHeaders(broken), { message: /^x-gateway-extra: must be printable ASCII/ });
});

test('headers of the specification reach the options of their clouds', (t) => {
  const azure = providers.find(({ id }) => id === 'azure-openai')!;
  t.deepEqual(
    optionsOf(azure).fromHeaders.flatMap(({ headers }) => headers),
    ['azure-resource-name', 'azure-api-version', 'azure-deployment-id', 'azure-model-name'],
  );
  const named = (group: string) =>
    allOptions.filter((spec) => spec.group === group).flatMap((spec) => headersOf(spec));
  for (const name of ['aws-access-key-id', 'aws-secret-access-key', 'aws-region', 'aws-session-token'])
    t.true(named('bedrock').includes(name), name);
  for (const name of ['vertex-project-id', 'vertex-region']) t.true(named('vertex').includes(name), name);
});

test('clouds need no key where options bring the credential, and others always do', (t) => {
  const of = (id: string) => providers.find((one) => one.id === id) as ProviderEntry;
  t.true(bringsCredential(of('bedrock'), { aws_secret_access_key: 'x' }));
  t.true(bringsCredential(of('bedrock'), { aws_auth_type: 'assumedRole' }));
  t.false(bringsCredential(of('bedrock'), { aws_auth_type: 'apiKey', aws_region: 'us-east-1' }));
  t.true(bringsCredential(of('vertex-ai'), { vertex_service_account_json: '{}' }));
  t.false(bringsCredential(of('vertex-ai'), { vertex_auth_type: 'basic', vertex_project_id: 'p' }));
  t.true(bringsCredential(of('azure-openai'), { azure_auth_mode: 'entra', azure_entra_client_secret: 'x' }));
  t.false(bringsCredential(of('azure-openai'), { azure_auth_mode: 'default' }));
  t.true(bringsCredential(of('azure-ai'), { azure_auth_mode: 'managed' }));
  t.true(bringsCredential(of('oracle'), { oracle_private_key: 'x' }));
  t.false(bringsCredential(of('cohere'), {}));
});
