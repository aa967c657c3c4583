// Which target of a config answered: an entry says what the answer's header said.
import test from 'ava';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { type Json, ok } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FakeProvider;
test.before(async () => {
  provider = await startFakeProvider();
  gateway = await startGateway();
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const target = (more: Json = {}): Json => ({
  provider: 'openai',
  api_key: 'k1',
  custom_host: `${provider.origin}/v1`,
  ...more,
});
const fails = (): Json => target({ override_params: { model: 'status-500' } });
const fallback = (...targets: Json[]): Json => ({ strategy: { mode: 'fallback' }, targets });

async function asked(
  config: Json,
  path: string,
): Promise<{ readonly header: string; readonly kept: unknown }> {
  const answer = await fetch(`${gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'content-type': 'application/json',
      'x-gateway-config': JSON.stringify(config),
    },
    body: JSON.stringify({ model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] }),
  });
  await answer.text();
  const { response } = await ok(gateway, 'GET', `/logs/${answer.headers.get('x-gateway-request-id')}`);
  return {
    header: answer.headers.get('x-gateway-last-used-option-index') ?? '',
    kept: (response as Json).lastUsedOptionJsonPath,
  };
}

const denies = {
  input_guardrails: [{ deny: true, 'default.contains': { words: ['hi'], operator: 'none' } }],
};

for (const [name, config, wanted, path = '/chat/completions'] of [
  ['one target', () => target(), 'config'],
  ['one target, forwarded', () => target(), 'config', '/proxy/chat/completions'],
  ['the first of several', () => fallback(target(), fails()), 'config.targets[0]'],
  ['the second', () => fallback(fails(), target()), 'config.targets[1]'],
  ['one below another', () => fallback(fails(), fallback(target())), 'config.targets[1].targets[0]'],
  ['the last that was tried', () => fallback(fails(), fallback(fails())), 'config.targets[1].targets[0]'],
  ['one whose guardrail denied the request', () => target(denies), 'config'],
  ['none: the config is refused', () => ({ provider: 'nobody' }), ''],
] as const satisfies readonly (readonly [string, () => Json, string, string?])[])
  test(`the path of ${name}`, async (t) => {
    t.deepEqual(await asked(config(), path), { header: wanted, kept: wanted });
  });

test('the path of a target whose answer came from the cache', async (t) => {
  const config = target({ cache: { mode: 'simple' }, override_params: { seed: 9 } });
  for (let i = 0; i < 2; i++)
    t.deepEqual(await asked(config, '/chat/completions'), { header: 'config', kept: 'config' });
});
