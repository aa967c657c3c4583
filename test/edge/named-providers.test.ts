// A model that names its stored provider, in a body of whatever kind: the slug is taken out, or the call is refused.
import test from 'ava';
import { startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';
import { limitsClient } from '../support/limits-client.ts';
import { startScriptedProvider } from '../support/scripted-provider.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway();
});
test.after.always(() => gateway?.close());

type Json = Record<string, unknown>;

interface Asked {
  readonly status: number;
  readonly text: string;
  readonly sent: readonly { readonly key: string; readonly body: string }[];
}

/** Two stored providers of one server, and calls of them. */
async function stored(name: string) {
  const sent: { key: string; body: string }[] = [];
  const provider = await startScriptedProvider(
    { json: { choices: [], data: [], output: [], content: [] } },
    sent,
  );
  const { admin } = limitsClient(gateway, await none());
  for (const slug of [`one-${name}`, `two-${name}`]) {
    const integration = {
      name: slug,
      slug,
      ai_provider_id: 'openai',
      key: `key-of-${slug}`,
      configurations: { custom_host: `${provider.origin}/v1` },
    };
    await admin('POST', '/integrations', integration);
    await admin('PUT', `/integrations/${slug}/workspaces`, {
      workspaces: [{ id: 'default', enabled: true }],
    });
  }
  return {
    close: provider.close,
    async ask(path: string, body: Json | FormData, header?: string): Promise<Asked> {
      sent.length = 0;
      const isForm = body instanceof FormData;
      const answer = await fetch(`${gateway.origin}/v1${path}`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': WORKSPACE_KEY,
          ...(isForm ? {} : { 'content-type': 'application/json' }),
          ...(header === undefined ? {} : { 'x-gateway-provider': header }),
        },
        body: isForm ? body : JSON.stringify(body),
      });
      return { status: answer.status, text: await answer.text(), sent: [...sent] };
    },
  };
}

/** What a limits client wants and no test here calls. */
async function none() {
  const fake = await startFakeProvider();
  await fake.close();
  return fake;
}

function form(model: string, text = 'abc'): FormData {
  const made = new FormData();
  made.append('language', 'en');
  made.append('model', model);
  made.append('file', new Blob([text]), 'a.wav');
  return made;
}

test('a form that is passed through goes to the provider of its model, without the slug', async (t) => {
  const { ask, close } = await stored('form');
  t.teardown(close);
  for (const path of ['/some/path', '/proxy/audio/transcriptions'])
    for (const header of [undefined, '@two-form']) {
      const { status, sent, text } = await ask(path, form('@two-form/whisper', 'x'.repeat(100_000)), header);
      t.is(status, 200, text);
      t.is(sent.length, 1);
      t.is(sent[0]?.key, 'Bearer key-of-two-form');
      t.true(sent[0]?.body.includes('\r\n\r\nwhisper\r\n'));
      t.false(sent[0]?.body.includes('@two-form'));
      t.true(sent[0]?.body.includes('x'.repeat(100_000)));
    }
  const plain = await ask('/some/path', form('whisper'), '@one-form');
  t.true(plain.sent[0]?.body.includes('\r\n\r\nwhisper\r\n'));
  const others = await ask('/some/path', form('@cf/meta/whisper'), '@one-form');
  t.true(others.sent[0]?.body.includes('\r\n\r\n@cf/meta/whisper\r\n'));
});

test('a form whose model names another provider than the header is refused', async (t) => {
  const { ask, close } = await stored('conflict');
  t.teardown(close);
  for (const [model, header] of [
    ['@one-conflict/x', '@two-conflict'],
    ['@nobody/x', undefined],
  ] as const) {
    const { status, sent, text } = await ask('/some/path', form(model), header);
    t.is(status, 400, text);
    t.regex(text, /"param":"model"/);
    t.is(sent.length, 0);
  }
});

for (const [path, body] of [
  ['/chat/completions', { messages: [{ role: 'user', content: 'hi' }] }],
  ['/responses', { input: 'hi' }],
  ['/messages', { max_tokens: 9, messages: [{ role: 'user', content: 'hi' }] }],
  ['/embeddings', { input: 'hi' }],
] as const)
  test(`${path}: a model with the slug of the selected provider loses it, one with another's is refused`, async (t) => {
    const name = path.replace(/[^a-z]/g, '');
    const { ask, close } = await stored(name);
    t.teardown(close);
    for (const header of [undefined, `@one-${name}`]) {
      const { sent, text } = await ask(path, { ...body, model: `@one-${name}/gpt/x` }, header);
      t.is(sent[0]?.key, `Bearer key-of-one-${name}`, text);
      t.is((JSON.parse(sent[0]?.body ?? '{}') as Json).model, 'gpt/x');
    }
    const refused = await ask(path, { ...body, model: `@two-${name}/gpt` }, `@one-${name}`);
    t.is(refused.status, 400, refused.text);
    t.regex(refused.text, /names the stored provider two-/);
    t.is(refused.sent.length, 0);
    const others = await ask(path, { ...body, model: '@cf/meta/x' }, `@one-${name}`);
    t.is((JSON.parse(others.sent[0]?.body ?? '{}') as Json).model, '@cf/meta/x');
  });

test('a virtual key and the targets of a config take the slug out as well', async (t) => {
  const { close } = await stored('config');
  t.teardown(close);
  const calls: { key: string; body: string }[] = [];
  const provider = await startScriptedProvider({ json: { choices: [] } }, calls);
  t.teardown(provider.close);
  const { admin } = limitsClient(gateway, await none());
  await admin('PUT', '/integrations/one-config', {
    key: 'k',
    configurations: { custom_host: `${provider.origin}/v1` },
  });
  for (const headers of [
    { 'x-gateway-virtual-key': 'one-config' },
    { 'x-gateway-config': JSON.stringify({ provider: '@one-config' }) },
    {
      'x-gateway-config': JSON.stringify({
        targets: [{ virtual_key: 'one-config' }],
        strategy: { mode: 'fallback' },
      }),
    },
  ]) {
    calls.length = 0;
    const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ model: '@one-config/gpt', messages: [{ role: 'user', content: 'hi' }] }),
    });
    const text = await answer.text();
    t.is((JSON.parse(calls[0]?.body ?? '{}') as Json).model, 'gpt', text);
  }
});
