// Providers of the environment, through the front door: made, listed, selected by models, never shown, gone with their variable.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { readSettings } from '../../src/settings.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const SECRETS = [
  'sk-environment-openai-1',
  'sk-environment-groq-22',
  'AKIAENVIRONMENT1',
  'aws-environment-secret',
];
const key = WORKSPACE_KEY;
let provider: FakeProvider;
let gateway: TestGateway;
let dataDir: string;
const answers: string[] = [];

const envOf = (more: Readonly<Record<string, string>> = {}): Record<string, string> => ({
  GATEWAY_DATA_DIR: dataDir,
  OPENAI_API_KEY: SECRETS[0]!,
  OPENAI_BASE_URL: `${provider.origin}/v1/`,
  GROQ_API_KEY: SECRETS[1]!,
  AWS_ACCESS_KEY_ID: SECRETS[2]!,
  AWS_SECRET_ACCESS_KEY: SECRETS[3]!,
  AWS_REGION: 'eu-central-1',
  AZURE_OPENAI_API_KEY: 'azure-alone',
  ...more,
});

test.before(async () => {
  provider = await startFakeProvider();
  dataDir = mkdtempSync(join(tmpdir(), 'sluice-environment-'));
  gateway = await startGateway(envOf());
});

test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const chat = (model: string, headers: Readonly<Record<string, string>> = {}) =>
  send(gateway, 'POST', '/chat/completions', {
    key,
    headers,
    body: { model, messages: [{ role: 'user', content: 'hi' }] },
  });

const providersOf = async (): Promise<Json[]> => {
  const { data } = await ok(gateway, 'GET', '/providers?workspace_id=default');
  answers.push(JSON.stringify(data));
  return data as Json[];
};

test.serial('they are stored providers: listed, read, and not changed by hand', async (t) => {
  const list = await providersOf();
  t.deepEqual(
    list.map(({ slug, ai_provider_name: id, managed_by: by }) => [slug, id, by]),
    [
      ['openai', 'openai', 'the environment variable OPENAI_API_KEY'],
      ['groq', 'groq', 'the environment variable GROQ_API_KEY'],
      ['bedrock', 'bedrock', 'the environment variable AWS_ACCESS_KEY_ID'],
    ],
  );
  const one = await ok(gateway, 'GET', '/providers/openai?workspace_id=default');
  t.is(one.status, 'active');
  const changed = await send(gateway, 'PUT', '/providers/openai?workspace_id=default', {
    body: { name: 'Mine' },
  });
  t.is(changed.status, 409);
  t.regex(JSON.stringify(changed.json), /OPENAI_API_KEY: change it there/);
  const gone = await send(gateway, 'DELETE', '/providers/openai?workspace_id=default');
  t.is(gone.status, 409);
  const keys = await ok(gateway, 'GET', '/virtual-keys');
  const models = await ok(gateway, 'GET', '/models', { key });
  t.true((models.data as Json[]).some(({ id }) => id === '@openai/gpt-4o'));
  answers.push(JSON.stringify([one, changed.json, keys, models]));
  t.true(
    gateway.logLines.some((line) => line.includes('AZURE_OPENAI_API_KEY: makes a provider together with')),
  );
  for (const secret of SECRETS) t.false([...answers, ...gateway.logLines].join().includes(secret), secret);
});

test.serial(
  'slug/model, @slug/model and a bare model select, with the credential of the variable',
  async (t) => {
    for (const model of ['openai/gpt-4o', '@openai/gpt-4o', 'gpt-4o', 'openai/not-in-the-catalogue']) {
      const { status, json } = await chat(model);
      t.is(status, 200, JSON.stringify(json));
      const { headers, body } = provider.seen.at(-1)!;
      t.is(headers.authorization, `Bearer ${SECRETS[0]}`);
      t.is((JSON.parse(body.toString()) as Json).model, model.replace(/^@?openai\//, ''));
    }
    const connect = await fetch(`${gateway.origin}/gateway.inference.v2.ChatService/CreateChatCompletion`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': key, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'openai/gpt-4o', messages: [{ role: 'user', content: { text: 'hi' } }] }),
    });
    t.is(connect.status, 200);
    await connect.arrayBuffer();
  },
);

test.serial('what no provider has, or several have, is a 400 that names the choices', async (t) => {
  const none = await chat('model-of-nobody');
  t.is(none.status, 400);
  t.regex(JSON.stringify(none.json), /@bedrock\/model-of-nobody/);
  const integration = await ok(gateway, 'POST', '/integrations', {
    body: { name: 'Second', slug: 'second', ai_provider_id: 'openai', key: 'sk-second' },
  });
  t.is(integration.slug, 'second');
  const unshared = await chat('@second/gpt-4o');
  t.is(unshared.status, 400);
  t.regex(JSON.stringify(unshared.json), /second is there, and is not shared with this workspace/);
  await ok(gateway, 'PUT', '/integrations/second/workspaces', {
    body: { workspaces: [{ id: 'default', enabled: true }] },
  });
  const several = await chat('gpt-4o');
  t.is(several.status, 400);
  t.regex(JSON.stringify(several.json), /@openai\/gpt-4o, @second\/gpt-4o/);
  const near = await chat('@opnai/gpt-4o');
  t.regex(JSON.stringify(near.json), /no stored provider opnai; the nearest: openai/);
});

test.serial(
  'a stored provider goes before one of its slug, and a variable that changes or goes is followed',
  async (t) => {
    await ok(gateway, 'POST', '/integrations', {
      body: {
        name: 'Own Groq',
        slug: 'groq',
        ai_provider_id: 'groq',
        key: 'sk-own-groq',
        configurations: { custom_host: `${provider.origin}/v1` },
      },
    });
    await ok(gateway, 'PUT', '/integrations/groq/workspaces', {
      body: { workspaces: [{ id: 'default', enabled: true }] },
    });
    t.is((await chat('@groq/any')).status, 200);
    t.is(provider.seen.at(-1)!.headers.authorization, 'Bearer sk-own-groq');
    t.is((await providersOf()).filter(({ slug }) => slug === 'groq').length, 1);

    await gateway.close();
    gateway = await startGateway(envOf({ OPENAI_API_KEY: 'sk-another', AWS_SECRET_ACCESS_KEY: '' }));
    t.is((await chat('@openai/any')).status, 200);
    t.is(provider.seen.at(-1)!.headers.authorization, 'Bearer sk-another');
    t.false((await providersOf()).some(({ slug }) => slug === 'bedrock'));

    await gateway.close();
    gateway = await startGateway(envOf({ GATEWAY_PROVIDERS_FROM_ENV: '0' }));
    t.is((await chat('@openai/any')).status, 400);
  },
);

test('it is the default of an embedded loopback start alone', (t) => {
  const of = (env: Record<string, string>) =>
    readSettings({ OPENAI_API_KEY: 'sk-x', ...env }).environmentProviders.providers.length;
  for (const HOST of ['127.0.0.1', 'localhost', '::1', '127.0.0.9']) t.is(of({ HOST }), 1, HOST);
  for (const HOST of ['0.0.0.0', '::', '10.0.0.1', '127.example.com']) t.is(of({ HOST }), 0, HOST);
  t.is(of({ REDIS_URL: 'redis://127.0.0.1:1' }), 0);
  t.is(of({ HOST: '0.0.0.0', GATEWAY_PROVIDERS_FROM_ENV: '1' }), 1);
  t.is(of({ GATEWAY_PROVIDERS_FROM_ENV: '0' }), 0);
  t.throws(() => of({ GATEWAY_PROVIDERS_FROM_ENV: 'yes' }), {
    message: /GATEWAY_PROVIDERS_FROM_ENV: must be 0 or 1/,
  });
});

test('each variable makes the provider that its library is for', (t) => {
  const names = 'ANTHROPIC GEMINI GROQ MISTRAL COHERE DEEPSEEK OPENROUTER TOGETHER XAI PERPLEXITY'.split(' ');
  const env = Object.fromEntries(names.map((name) => [`${name}_API_KEY`, 'k']));
  const azure = { AZURE_OPENAI_API_KEY: 'k', AZURE_OPENAI_ENDPOINT: 'https://my-resource.openai.azure.com/' };
  const { providers, faults } = readSettings({ ...env, ...azure }).environmentProviders;
  t.deepEqual(faults, []);
  t.deepEqual(
    providers.map(({ slug, providerId }) => `${slug}=${providerId}`),
    [
      'anthropic=anthropic',
      'gemini=google',
      'groq=groq',
      'mistral=mistral-ai',
      'cohere=cohere',
      'deepseek=deepseek',
      'openrouter=openrouter',
      'together=together-ai',
      'xai=x-ai',
      'perplexity=perplexity-ai',
      'azure-openai=azure-openai',
    ],
  );
  t.is(providers.at(-1)?.options.azure_resource_name, 'my-resource');
});
