import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { authHeaders } from '../../src/providers/auth/index.ts';
import { providerById, providers } from '../../src/providers/catalog/registry.ts';
import type { Outbound, ProviderOptions } from '../../src/providers/dialect.ts';
import { locate, locateRaw } from '../../src/providers/locate.ts';
import type { OperationName } from '../../src/providers/operations.ts';
import { dialects } from './support/golden.ts';
import { targetOf } from './support/target.ts';

const outbound = (path: string): Outbound => ({ method: 'POST', path, headers: [], body: undefined });
const at = (id: string, path: string, operation: OperationName = 'chat', customHost?: string): string => {
  const address = locate(targetOf(id, { customHost }), operation, outbound(path));
  return address.origin + address.path;
};
const azure = {
  azure_resource_name: 'Res-1',
  azure_deployment_id: 'gpt-4o',
  azure_api_version: '2024-10-21',
};
const inAzure = (
  options: ProviderOptions,
  operation: OperationName = 'chat',
  customHost?: string,
): string => {
  const target = targetOf('azure-openai', { options, customHost });
  const { origin, path } = locate(
    target,
    operation,
    outbound(operation === 'chat' ? '/chat/completions' : '/models'),
  );
  return origin + path;
};

for (const [id, url] of [
  ['openai', 'https://api.openai.com/v1/chat/completions'],
  ['groq', 'https://api.groq.com/openai/v1/chat/completions'],
  ['mistral-ai', 'https://api.mistral.ai/v1/chat/completions'],
  ['deepseek', 'https://api.deepseek.com/v1/chat/completions'],
  ['openrouter', 'https://openrouter.ai/api/v1/chat/completions'],
  ['together-ai', 'https://api.together.xyz/v1/chat/completions'],
  ['perplexity-ai', 'https://api.perplexity.ai/chat/completions'],
  ['x-ai', 'https://api.x.ai/v1/chat/completions'],
  ['fireworks-ai', 'https://api.fireworks.ai/inference/v1/chat/completions'],
  ['cerebras', 'https://api.cerebras.ai/v1/chat/completions'],
  ['deepinfra', 'https://api.deepinfra.com/v1/openai/chat/completions'],
  ['nebius', 'https://api.tokenfactory.nebius.com/v1/chat/completions'],
  ['sambanova', 'https://api.sambanova.ai/v1/chat/completions'],
  ['novita-ai', 'https://api.novita.ai/openai/v1/chat/completions'],
  ['hyperbolic', 'https://api.hyperbolic.xyz/v1/chat/completions'],
  ['moonshot', 'https://api.moonshot.cn/v1/chat/completions'],
  ['z-ai', 'https://api.z.ai/api/paas/v4/chat/completions'],
  ['lambda', 'https://api.lambdalabs.com/v1/chat/completions'],
  ['inference-net', 'https://api.inference.net/v1/chat/completions'],
  ['featherless-ai', 'https://api.featherless.ai/v1/chat/completions'],
  ['dashscope', 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1/chat/completions'],
] as const) {
  test(`${id} is called at ${url}`, (t) => t.is(at(id, '/chat/completions'), url));
}

test('anthropic is called at /v1/messages', (t) => {
  t.is(at('anthropic', '/messages'), 'https://api.anthropic.com/v1/messages');
});

test('a custom host keeps its base path, without double slashes', (t) => {
  const call = '/chat/completions';
  t.is(at('openai', call, 'chat', 'http://127.0.0.1:9/v1'), 'http://127.0.0.1:9/v1/chat/completions');
  t.is(at('openai', call, 'chat', 'https://h.example/a/b//'), 'https://h.example/a/b/chat/completions');
  t.is(at('openai', call, 'chat', 'https://h.example'), 'https://h.example/chat/completions');
  t.is(at('ollama', call, 'chat', 'http://localhost:11434'), 'http://localhost:11434/v1/chat/completions');
  t.is(
    at('ollama', call, 'chat', 'http://localhost:11434/v1/'),
    'http://localhost:11434/v1/chat/completions',
  );
  t.is(at('openai', call, 'chat', 'http://[::1]:80/v1'), 'http://[::1]/v1/chat/completions');
});

test('a custom host that is none is refused', (t) => {
  for (const host of [
    '',
    'ftp://h',
    'h.example',
    'https://u:p@h',
    'https://h/?x',
    'https://h/#x',
    'https://',
  ]) {
    const error = t.throws(() => at('openai', '/x', 'chat', host), { instanceOf: GatewayError }, host);
    t.is(error?.details.param, 'x-gateway-custom-host', host);
  }
  for (const id of ['xinference', 'openai-compatible']) {
    t.throws(() => at(id, '/x'), { message: /x-gateway-custom-host.*required/ });
  }
});

test('azure: resource, deployment and version', (t) => {
  const host = 'https://res-1.openai.azure.com/openai';
  t.is(inAzure(azure), `${host}/deployments/gpt-4o/chat/completions?api-version=2024-10-21`);
  t.is(inAzure(azure, 'models'), `${host}/models?api-version=2024-10-21`);
  t.is(inAzure({ ...azure, azure_api_version: 'v1' }), `${host}/v1/chat/completions`);
  t.is(
    inAzure({ ...azure, azure_api_version: 'preview' }),
    `${host}/v1/chat/completions?api-version=preview`,
  );
  const { azure_resource_name: _, ...hosted } = azure;
  t.is(
    inAzure(hosted, 'chat', 'https://proxy.example/openai'),
    'https://proxy.example/openai/deployments/gpt-4o/chat/completions?api-version=2024-10-21',
  );
});

test('azure: no option reaches another host or path', (t) => {
  const header = (name: string): string => `x-gateway-${name.replaceAll('_', '-')}`;
  const bad: readonly [string, readonly string[]][] = [
    [
      'azure_resource_name',
      ['', 'evil.com/', 'evil.com#', 'a@evil.com', 'a.b', '-a', 'a'.repeat(64), 'a\n', 'ä', '%61'],
    ],
    ['azure_deployment_id', ['', '../x', '..', 'a/b', 'a?b', 'a'.repeat(65), 'a\n']],
    ['azure_api_version', ['', '2024', '2024-10-21&x=1', 'V1', '2024-10-21-preview2', '2024-10-21\n']],
  ];
  for (const [name, values] of bad) {
    for (const value of values) {
      const error = t.throws(() => inAzure({ ...azure, [name]: value }), { instanceOf: GatewayError }, value);
      t.is(error?.details.param, header(name), value);
      t.is(error?.status, 400);
    }
  }
});

test('raw paths are appended byte for byte', (t) => {
  const raw = (id: string, path: string, customHost?: string): string => {
    const address = locateRaw(targetOf(id, { customHost, options: azure }), path);
    return address.origin + address.path;
  };
  t.is(raw('openai', '/files?limit=2&a=%2F%20b'), 'https://api.openai.com/v1/files?limit=2&a=%2F%20b');
  t.is(raw('openai', '/v1/files'), 'https://api.openai.com/v1/v1/files');
  t.is(raw('openai', '//evil.example/x'), 'https://api.openai.com/v1//evil.example/x');
  t.is(raw('ollama', '/api/tags', 'http://localhost:11434'), 'http://localhost:11434/api/tags');
  t.is(raw('azure-openai', '/files'), 'https://res-1.openai.azure.com/openai/files');
  for (const path of ['', 'files', '/a b', '/a\r\nx: y', '/é', '/a#b']) {
    t.throws(() => raw('openai', path), { instanceOf: GatewayError }, path);
  }
});

test('an override of a path keeps the query and the name of a model', (t) => {
  const provider = {
    ...targetOf('openai').provider,
    pathPrefix: '/never',
    paths: { chat: '/api/chat', models: '/api/tags', model: '/api/show' },
  };
  const target = { ...targetOf('openai'), provider };
  t.is(locate(target, 'chat', outbound('/chat/completions')).path, '/v1/api/chat');
  t.is(locate(target, 'models', outbound('/models?after=a')).path, '/v1/api/tags?after=a');
  t.is(locate(target, 'model', outbound('/models/a/b')).path, '/v1/api/show/a/b');
});

test('the catalogue is frozen, whole and speaks known dialects', (t) => {
  t.is(new Set(providers.map((entry) => entry.id)).size, providers.length);
  for (const entry of providers) {
    t.true(Object.isFrozen(entry), entry.id);
    for (const value of Object.values(entry))
      t.true(typeof value !== 'object' || Object.isFrozen(value), entry.id);
    const dialect = dialects.get(entry.dialect);
    t.truthy(dialect, entry.id);
    for (const name of entry.operations ?? []) t.truthy(dialect?.[name], `${entry.id} ${name}`);
    t.false(entry.baseUrl?.endsWith('/') ?? false, entry.id);
    if (entry.localPort !== undefined) t.is(entry.baseUrl, `http://127.0.0.1:${entry.localPort}`);
    else if (entry.baseUrl !== undefined) t.is(new URL(entry.baseUrl).protocol, 'https:', entry.id);
  }
  t.is(providerById('__proto__'), undefined);
  t.is(providerById('nobody'), undefined);
});

test('credentials are written in the scheme, and never into another header', (t) => {
  t.deepEqual(authHeaders(targetOf('openai')), ['authorization', 'Bearer sk-test']);
  t.deepEqual(authHeaders(targetOf('anthropic')), ['x-api-key', 'sk-test']);
  t.deepEqual(authHeaders(targetOf('azure-openai')), ['api-key', 'sk-test']);
  t.deepEqual(authHeaders(targetOf('ollama', { apiKey: undefined })), []);
  for (const apiKey of ['sk-1\r\nx: y', 'sk-1ä', ' sk-1', 'sk-1\u0000']) {
    const error = t.throws(() => authHeaders(targetOf('openai', { apiKey })), { instanceOf: GatewayError });
    t.false(error?.message.includes('sk-1'));
  }
});

test('options become headers of the dialect', (t) => {
  const headersOf = (id: string, options: ProviderOptions): readonly string[] | undefined => {
    const target = targetOf(id, { options });
    return dialects.get(target.provider.dialect)?.headers(target);
  };
  t.deepEqual(headersOf('openai', {}), []);
  t.deepEqual(headersOf('openai', { openai_organization: 'o', openai_project: 'p' }), [
    'openai-organization',
    'o',
    'openai-project',
    'p',
  ]);
  t.deepEqual(headersOf('anthropic', {}), ['anthropic-version', '2023-06-01']);
  t.deepEqual(headersOf('anthropic', { anthropic_version: '2099-01-01', anthropic_beta: 'a,b' }), [
    'anthropic-version',
    '2099-01-01',
    'anthropic-beta',
    'a,b',
  ]);
  const error = t.throws(() => headersOf('anthropic', { anthropic_beta: 'a\r\nb' }), {
    instanceOf: GatewayError,
  });
  t.is(error?.details.param, 'x-gateway-anthropic-beta');
});

test('a model in a path cannot leave it', (t) => {
  const model = dialects.get('openai')?.model;
  for (const name of ['..', 'a/../b', 'a//b', '/a', '']) {
    const request = { $typeName: 'gateway.inference.v2.GetModelRequest' as const, model: name };
    t.throws(() => model?.request(request, { target: targetOf('openai'), now: () => 0 }), {
      instanceOf: GatewayError,
    });
  }
});
