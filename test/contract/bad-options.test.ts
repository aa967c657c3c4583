// An option that is missing or malformed is a 400 that names its header, its config member and its stored field,
// whichever way it came: swept over every option of every provider of the catalogue.
import test from 'ava';
import { providers } from '../../src/providers/catalog/registry.ts';
import type { ProviderEntry } from '../../src/providers/dialect.ts';
import { has } from '../../src/providers/offered.ts';
import { comesFrom, headersOf } from '../../src/providers/options/index-of.ts';
import { type OptionSource, type OptionSpec, text } from '../../src/providers/options/spec.ts';
import { dialects } from '../providers/support/golden.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Options = Readonly<Record<string, unknown>>;

/** Something that each option may be. */
const GOOD: Options = {
  aws_region: 'us-east-1',
  aws_access_key_id: 'AKIDEXAMPLE',
  aws_secret_access_key: 'wJalrXUtnFEMI/K7MDENG',
  aws_role_arn: 'arn:aws:iam::1:role/r',
  azure_api_version: '2024-10-21',
  azure_foundry_url: 'https://r.services.ai.azure.com',
  azure_deployment_config: [
    { azure_api_version: '2024-10-21', azure_deployment_name: 'd', azure_model_slug: 'm', is_default: true },
  ],
  vertex_region: 'us-central1',
  vertex_service_account_json: { project_id: 'p' },
};

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

/** The answer of one way to say these options: its status and what it says. */
const WAYS: Readonly<Record<OptionSource, (entry: ProviderEntry, options: Options) => Promise<Said>>> = {
  header: (entry, options) =>
    call(entry, {
      'x-gateway-provider': entry.id,
      authorization: 'Bearer sk-1',
      ...Object.fromEntries(
        Object.entries(options).flatMap(([name, value]) => {
          const spec = entry.options!.find((one) => one.name === name)!;
          const told = typeof value === 'string' ? value : JSON.stringify(value);
          return comesFrom(spec, 'header') ? [[`x-gateway-${headersOf(spec)[0]}`, told]] : [];
        }),
      ),
    }),
  config: (entry, options) =>
    call(entry, {
      'x-gateway-config': JSON.stringify({
        provider: entry.id,
        api_key: 'sk-1',
        ...Object.fromEntries(
          Object.entries(options).filter(([name]) =>
            comesFrom(entry.options!.find((one) => one.name === name)!, 'config'),
          ),
        ),
      }),
    }),
  stored: (entry, options) =>
    post('/v1/integrations', ADMIN_KEY, {
      name: entry.id,
      ai_provider_id: entry.id,
      key: 'sk-1',
      configurations: options,
    }),
};

interface Said {
  readonly status: number;
  readonly text: string;
}

async function post(path: string, key: string, body: object, headers: Record<string, string> = {}) {
  const answer = await fetch(gateway.origin + path, {
    method: 'POST',
    headers: { 'x-gateway-api-key': key, 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
  return { status: answer.status, text: await answer.text() };
}

/** An operation that the provider has; else a path that is passed through. */
const PATHS: Readonly<Record<string, string>> = {
  chat: '/v1/chat/completions',
  completions: '/v1/completions',
  images: '/v1/images/generations',
  raw: '/v1/proxy/things',
};
const offers = ['chat', 'completions', 'images'] as const;
function call(entry: ProviderEntry, headers: Record<string, string>): Promise<Said> {
  const path = PATHS[offers.find((name) => has(entry, dialects.get(entry.dialect)!, name)) ?? 'raw']!;
  const body = { model: 'm', messages: [{ role: 'user', content: 'Hi' }], prompt: 'Hi' };
  return post(path, WORKSPACE_KEY, body, headers);
}

/** All that the provider needs so that this option is needed too, but for the option. */
function othersThan(entry: ProviderEntry, { name, required, from }: OptionSpec): Options {
  const { when } = required ?? {};
  const condition = when === undefined ? {} : { [when.option]: when.is[0] };
  const needed = entry.options!.filter(
    (one) => one.required !== undefined && one.name !== name && one.from === from,
  );
  const all = Object.fromEntries(needed.map((one) => [one.name, GOOD[one.name] ?? one.oneOf?.[0] ?? 'x']));
  return { ...all, ...condition };
}

/** Every way of an option is named. */
function named(spec: OptionSpec): readonly string[] {
  return [
    ...(comesFrom(spec, 'header') ? [`header x-gateway-${headersOf(spec)[0]}`] : []),
    ...(comesFrom(spec, 'config') ? [`config member ${spec.name}`] : []),
    ...(comesFrom(spec, 'stored') ? [`stored field configurations.${spec.name}`] : []),
  ];
}

const withOptions = providers.filter(({ options = [] }) => options.length > 0);
const sources: readonly OptionSource[] = ['header', 'config', 'stored'];

test('the sweep is not empty', (t) => {
  t.true(withOptions.length >= 10);
});

for (const entry of withOptions)
  for (const spec of entry.options!)
    for (const source of sources.filter((one) => comesFrom(spec, one))) {
      // What only stored providers have, and what one operation needs, is needed nowhere else.
      const { required } = spec;
      const perCall = required !== undefined && required.stored !== true;
      if (
        perCall ? source !== 'stored' || !required.operations : required !== undefined && source === 'stored'
      )
        test(`${entry.id}: ${spec.name} is missing from the ${source}`, async (t) => {
          const { status, text } = await WAYS[source](entry, othersThan(entry, spec));
          t.is(status, 400, text);
          for (const way of named(spec)) t.true(text.includes(way), `${way}: ${text}`);
        });
      const bad = malformed(spec, source);
      if (bad !== undefined)
        test(`${entry.id}: ${spec.name} of the ${source} is malformed`, async (t) => {
          const options = { ...othersThan(entry, spec), [spec.name]: bad };
          const { status, text } = await WAYS[source](entry, options);
          t.is(status, 400, text);
          for (const way of named(spec)) t.true(text.includes(way), `${way}: ${text}`);
          t.false(text.includes(String(bad)), text);
        });
    }

/** A value that this option cannot have when it comes this way; undefined: any text may be one. */
function malformed({ type, oneOf, pattern, sends }: OptionSpec, source: OptionSource): unknown {
  if (oneOf !== undefined || type === 'flag') return 'neither-one';
  if (type === 'host') return source === 'stored' ? ['no address'] : 'no address';
  if (type === 'deployments') return 'no list';
  if (source === 'stored') return ['no text'];
  if (pattern !== undefined) return '%2e%2e/ #';
  return sends?.header !== undefined && source === 'config' ? 'a\r\nb: c' : undefined;
}

for (const entry of providers.filter(({ baseUrl, id }) => baseUrl === undefined && id !== 'azure-ai'))
  test(`${entry.id}: a missing custom host`, async (t) => {
    for (const source of sources) {
      const { status, text } = await WAYS[source]({ ...entry, options: [] }, {});
      t.is(status, 400, text);
      for (const way of ['header x-gateway-custom-host', 'config member custom_host'])
        t.true(text.includes(way), text);
      t.true(text.includes('stored field configurations.custom_host'), text);
    }
  });

test('a missing key', async (t) => {
  const openai = providers.find(({ id }) => id === 'openai')!;
  const said = await Promise.all([
    call(openai, { 'x-gateway-provider': 'openai' }),
    call(openai, { 'x-gateway-config': '{"provider":"openai"}' }),
    post('/v1/integrations', ADMIN_KEY, { name: 'k', ai_provider_id: 'openai' }),
  ]);
  for (const { status, text } of said) {
    t.is(status, 400, text);
    for (const way of ['header authorization', 'config member api_key', 'stored field key'])
      t.true(text.includes(way), text);
  }
});

test('options that bring the credential are named in its place', async (t) => {
  const oracle = providers.find(({ id }) => id === 'oracle')!;
  const { status, text: told } = await call(oracle, { 'x-gateway-provider': 'oracle' });
  t.is(status, 400);
  for (const way of named(text('oracle_region'))) t.true(told.includes(way), told);
});
