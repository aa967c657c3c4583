// Model aliases: kept, listed among models, and where calls by them go.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { ok, send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let provider: FakeProvider;
let gateway: TestGateway;

test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway();
  const config = {
    provider: 'openai',
    custom_host: `${provider.origin}/v1`,
    api_key: 'sk-alias-0123456789',
    override_params: { model: 'gpt-4o' },
  };
  const { id } = await ok(gateway, 'POST', '/configs', { body: { name: 'Fast', config } });
  await ok(gateway, 'POST', '/model-aliases', {
    body: { name: 'fast', config: String(id), description: 'The quick one' },
  });
});

test.after.always(async () => {
  await gateway.close();
  await provider.close();
});

const ask = (model: string, headers: Record<string, string> = {}) =>
  send(gateway, 'POST', '/chat/completions', {
    key: WORKSPACE_KEY,
    headers,
    body: { model, messages: [{ role: 'user', content: 'Hi' }] },
  });

test.serial('a call whose model is an alias goes by its config, with the config’s model', async (t) => {
  const { status } = await ask('fast');
  t.is(status, 200);
  const sent = JSON.parse(provider.seen.at(-1)!.body.toString()) as { model: string };
  t.is(sent.model, 'gpt-4o');
});

test.serial('a provider that the call selects goes before an alias', async (t) => {
  const { status } = await ask('fast', {
    'x-gateway-provider': 'openai',
    'x-gateway-custom-host': `${provider.origin}/v1`,
    authorization: 'Bearer sk-own-0123456789',
  });
  t.is(status, 200);
  const sent = JSON.parse(provider.seen.at(-1)!.body.toString()) as { model: string };
  t.is(sent.model, 'fast');
});

test.serial('/models lists aliases first, and answers one by its name', async (t) => {
  const { data } = await ok(gateway, 'GET', '/models', { key: WORKSPACE_KEY });
  t.is((data as { id: string }[])[0]?.id, 'fast');
  const one = await ok(gateway, 'GET', '/models/fast', { key: WORKSPACE_KEY });
  t.is(one.owned_by, 'model-alias');
});

test.serial('an alias is found by name, changed, and refused when taken or without a config', async (t) => {
  const found = await ok(gateway, 'GET', '/model-aliases/fast');
  t.is(found.object, 'model-alias');
  t.regex(String(found.config), /^pc-/);
  const changed = await ok(gateway, 'PUT', '/model-aliases/fast', { body: { description: null } });
  t.is(changed.description, null);
  const taken = await send(gateway, 'POST', '/model-aliases', {
    body: { name: 'fast', config: found.config },
  });
  t.is(taken.status, 409);
  t.regex(JSON.stringify(taken.json), /name: is the name of another model alias/);
  const nowhere = await send(gateway, 'POST', '/model-aliases', {
    body: { name: 'slow', config: 'pc-none' },
  });
  t.is(nowhere.status, 400);
  t.is((nowhere.json.error as { param: string }).param, 'config');
  const odd = await send(gateway, 'POST', '/model-aliases', { body: { name: '@slow', config: 'x' } });
  t.is(odd.status, 400);
});

test.serial('a config with an alias is in use; without the alias a call finds no provider', async (t) => {
  const { config } = await ok(gateway, 'GET', '/model-aliases/fast');
  const refused = await send(gateway, 'DELETE', `/configs/${String(config)}`);
  t.is(refused.status, 409);
  t.regex(JSON.stringify(refused.json), /model-alias fast/);
  await ok(gateway, 'DELETE', '/model-aliases/fast');
  const { status, json } = await ask('fast');
  t.is(status, 400);
  t.is((json.error as { code: string }).code, 'provider_missing');
  await ok(gateway, 'DELETE', `/configs/${String(config)}`);
});
