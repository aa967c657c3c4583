// Servers of this machine as the custom host of stored providers, their models and configs: each at its own port, for its own
// identifier, on a gateway that listens on loopback.
import test, { type ExecutionContext } from 'ava';
import { send } from '../support/front-door.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

const OLLAMA = 'http://127.0.0.1:11434/v1';

async function opened(t: ExecutionContext, host: string): Promise<TestGateway> {
  const gateway = await startGateway({ HOST: host, GATEWAY_EGRESS_ALLOW: '' });
  t.teardown(() => gateway.close());
  return gateway;
}

/** The statuses of an integration, a model of it, a saved config and an inline one. */
async function statuses(gateway: TestGateway, id: string, host: string): Promise<number[]> {
  const slug = `local-${id}`;
  const integration = await send(gateway, 'POST', '/integrations', {
    body: { name: slug, slug, ai_provider_id: id, key: 'k', configurations: { custom_host: host } },
  });
  const open = `open-${id}`;
  await send(gateway, 'POST', '/integrations', {
    body: { name: open, slug: open, ai_provider_id: id, key: 'k' },
  });
  const model = await send(gateway, 'PUT', `/integrations/${open}/models`, {
    body: { models: [{ slug: 'm', enabled: true, configurations: { custom_host: host } }] },
  });
  const config = { provider: id, custom_host: host, api_key: 'k' };
  const saved = await send(gateway, 'POST', '/configs', {
    body: { name: slug, config, workspace_id: 'default' },
  });
  const inline = await send(gateway, 'POST', '/chat/completions', {
    key: WORKSPACE_KEY,
    headers: { 'x-gateway-config': JSON.stringify(config) },
    body: { model: 'm', messages: [{ role: 'user', content: 'hi' }] },
  });
  const refused = JSON.stringify([integration, model, saved, inline].map(({ json }) => json));
  if (inline.status === 400 && !/GATEWAY_EGRESS_ALLOW/.test(refused)) throw new Error(refused);
  return [integration, model, saved].map(({ status }) => status).concat(inline.status === 400 ? 400 : 200);
}

test('on loopback for the own identifier and port', async (t) => {
  const gateway = await opened(t, '127.0.0.1');
  t.deepEqual(await statuses(gateway, 'ollama', OLLAMA), [200, 200, 200, 200]);
  t.deepEqual(await statuses(gateway, 'vllm', OLLAMA), [400, 400, 400, 400]);
  t.deepEqual(await statuses(gateway, 'openai', OLLAMA), [400, 400, 400, 400]);
  t.deepEqual(await statuses(gateway, 'lmstudio', 'http://10.0.0.1:1234/v1'), [400, 400, 400, 400]);
});

test('nowhere else', async (t) => {
  const gateway = await opened(t, '0.0.0.0');
  t.deepEqual(await statuses(gateway, 'ollama', OLLAMA), [400, 400, 400, 400]);
});
