// What calls select by slugs: stored providers and saved configs, found at once or after a look.

import test from 'ava';
import type { TenantScope } from '../../../src/call/scope.ts';
import { Configs } from '../../../src/inference/plan/configs.ts';
import type { PlanDeps, SavedConfig, StoredProvider } from '../../../src/inference/plan/plan-deps.ts';
import { type Planner, planOf, type Routing } from '../../../src/inference/plan/select.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { providerById } from '../../../src/providers/catalog/registry.ts';
import { callWith } from '../../support/calls.ts';
import { factsWith } from './facts.ts';

const MINE: StoredProvider = {
  entry: providerById('groq')!,
  apiKey: 'stored-key',
  options: {},
  customHost: 'https://stored.example',
};

/** A control plane whose answers come at once, or later. */
function plannerWith(
  {
    providers = {},
    configs = {},
    fallback,
  }: {
    providers?: Record<string, StoredProvider>;
    configs?: Record<string, SavedConfig>;
    fallback?: SavedConfig;
  },
  later: boolean,
): Planner {
  const give = <T>(value: T): T | Promise<T> => (later ? Promise.resolve(value) : value);
  const ours = (tenant: TenantScope): boolean => tenant.workspaceId === 'ws';
  const deps: PlanDeps = {
    ...factsWith(),
    resolveProvider: (tenant, slug) => give(ours(tenant) ? providers[slug] : undefined),
    resolveConfig: (tenant, slug) => give(ours(tenant) ? configs[slug] : undefined),
    defaultConfig: (tenant) => (ours(tenant) ? fallback : undefined),
  };
  return { deps, configs: new Configs(deps) };
}

async function plan(
  planner: Planner,
  headers: Record<string, string>,
  model?: string,
  workspaceId = 'ws',
): Promise<Routing> {
  return planOf(
    callWith({
      headers,
      principal: { workspaceId },
      members: { presentedKey: 'slk_mine', providerCredential: 'callers-key' },
    }),
    planner,
    model,
  );
}

const bound = async (routing: Routing, index = 0) => {
  const { target, model } = await routing.bind(routing.plan.targets[index]!);
  return { provider: target.provider.id, apiKey: target.apiKey, host: target.customHost, model };
};
const STORED = { provider: 'groq', apiKey: 'stored-key', host: 'https://stored.example' };

for (const later of [false, true]) {
  const when = later ? 'after a look' : 'at once';

  test(`a stored provider by header, virtual key, model and config, ${when}`, async (t) => {
    const planner = plannerWith({ providers: { mine: MINE } }, later);
    t.like(await bound(await plan(planner, { 'x-gateway-provider': '@mine' })), STORED);
    t.like(await bound(await plan(planner, { 'x-gateway-virtual-key': 'mine' })), STORED);
    t.like(await bound(await plan(planner, {}, '@mine/llama/3')), { ...STORED, model: 'llama/3' });
    for (const target of [{ provider: '@mine' }, { virtual_key: 'mine' }]) {
      const config = JSON.stringify({
        strategy: { mode: 'fallback' },
        targets: [{ provider: 'openai' }, target],
      });
      const routing = await plan(planner, { 'x-gateway-config': config });
      t.like(await bound(routing, 0), { provider: 'openai', apiKey: 'callers-key' });
      t.like(await bound(routing, 1), STORED);
    }
  });

  test(`a target that takes its provider from the request, ${when}`, async (t) => {
    const planner = plannerWith({ providers: { mine: MINE } }, later);
    const config = JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [{ passthrough: true }, { provider: 'openai', api_key: 'own' }],
    });
    const named = await plan(planner, { 'x-gateway-config': config }, '@mine/llama');
    t.like(await bound(named, 0), { ...STORED, model: 'llama' });
    const unnamed = await plan(planner, { 'x-gateway-config': config }, 'gpt-4');
    await t.throwsAsync(async () => unnamed.bind(unnamed.plan.targets[0]!), { instanceOf: GatewayError });
    t.like(await bound(unnamed, 1), { provider: 'openai', apiKey: 'own' });
  });

  test(`another tenant's slugs are unknown, ${when}`, async (t) => {
    const planner = plannerWith(
      {
        providers: { mine: MINE },
        configs: { saved: { id: 'c', version: '1', json: { provider: 'openai', api_key: 'k' } } },
      },
      later,
    );
    const config = '{"provider":"@mine"}';
    t.is((await plan(planner, { 'x-gateway-config': config })).plan.targets[0]!.slug, 'mine');
    const ways: readonly Record<string, string>[] = [
      { 'x-gateway-provider': '@mine' },
      { 'x-gateway-config': config },
      { 'x-gateway-config': 'saved' },
    ];
    for (const headers of ways) {
      await t.notThrowsAsync(plan(planner, headers));
      const error = await t.throwsAsync(() => plan(planner, headers, undefined, 'another'), {
        instanceOf: GatewayError,
      });
      t.is((error as GatewayError).status, 400);
    }
  });

  test(`a saved config, planned anew when it or what it refers to changes, ${when}`, async (t) => {
    const configs: Record<string, SavedConfig> = {
      outer: {
        id: 'o',
        version: '1',
        json: { strategy: { mode: 'fallback' }, targets: [{ config: 'inner' }] },
      },
      inner: { id: 'i', version: '1', json: { provider: 'openai', api_key: 'one' } },
    };
    const planner = plannerWith({ configs }, later);
    const read = () => plan(planner, { 'x-gateway-config': 'outer' });
    const first = await read();
    t.is(first.plan.targets[0]!.apiKey, 'one');
    t.is((await read()).plan, first.plan);
    configs.inner = { id: 'i', version: '2', json: { provider: 'openai', api_key: 'two' } };
    t.is((await read()).plan.targets[0]!.apiKey, 'two');
    const alone = await plan(planner, { 'x-gateway-config': 'inner' });
    t.is((await plan(planner, { 'x-gateway-config': 'inner' })).plan, alone.plan);
  });
}

test('a default config is for calls that select nothing', async (t) => {
  const fallback = { id: 'd', version: '1', json: { provider: 'openai', api_key: 'default-key' } };
  const planner = plannerWith({ fallback, providers: { mine: MINE } }, false);
  t.like(await bound(await plan(planner, {})), { apiKey: 'default-key' });
  t.like(await bound(await plan(planner, { 'x-gateway-provider': 'groq' })), {
    provider: 'groq',
    apiKey: 'callers-key',
  });
  t.like(await bound(await plan(planner, {}, '@mine/x')), STORED);
});

test('the caller’s credential goes to one provider, and to no stored one', async (t) => {
  const planner = plannerWith(
    { providers: { bare: { ...MINE, apiKey: undefined, customHost: undefined } } },
    false,
  );
  await t.throwsAsync(() => plan(planner, { 'x-gateway-provider': '@bare' }), {
    message: /needs a credential/,
  });
  const three = {
    strategy: { mode: 'fallback' },
    targets: [
      { provider: 'openai' },
      { provider: 'openai' },
      { provider: 'ollama', custom_host: 'https://o.example' },
    ],
  };
  const routing = await plan(planner, { 'x-gateway-config': JSON.stringify(three) });
  t.deepEqual(await Promise.all([0, 1, 2].map(async (i) => (await bound(routing, i)).apiKey)), [
    'callers-key',
    'callers-key',
    undefined,
  ]);
});

test('a stored provider’s credential goes to its own host only', async (t) => {
  const azure = {
    entry: providerById('azure-openai')!,
    apiKey: 'stored-key',
    options: { azure_resource_name: 'mine' },
    customHost: undefined,
  };
  const planner = plannerWith({ providers: { mine: MINE, azure } }, false);
  const evil = 'https://evil.example';
  const refused = async (headers: Record<string, string>, model?: string): Promise<void> => {
    const error = await t.throwsAsync(async () => bound(await plan(planner, headers, model)), {
      instanceOf: GatewayError,
    });
    t.is((error as GatewayError).status, 400, error?.message);
  };
  await refused({ 'x-gateway-config': JSON.stringify({ provider: '@mine', custom_host: evil }) });
  await refused({
    'x-gateway-config': JSON.stringify({ custom_host: evil, targets: [{ virtual_key: 'mine' }] }),
  });
  await refused({ 'x-gateway-config': JSON.stringify({ provider: '@azure', azure_resource_name: 'evil' }) });
  await refused({ 'x-gateway-config': JSON.stringify({ provider: '@mine', api_key: 'k' }) });
  await refused({ 'x-gateway-config': JSON.stringify({ custom_host: evil }), 'x-gateway-provider': '@mine' });
  await refused({ 'x-gateway-config': JSON.stringify({ custom_host: evil }) }, '@mine/llama');
  await refused({ 'x-gateway-custom-host': evil }, '@mine/llama');
  await refused({ 'x-gateway-custom-host': evil, 'x-gateway-provider': '@mine' });
  await refused({ 'x-gateway-custom-host': evil, 'x-gateway-config': '{"provider":"@mine"}' });
  // By headers the caller's options are not read at all; by an inherited level they are left out.
  const routing = await plan(planner, {
    'x-gateway-config': JSON.stringify({
      azure_resource_name: 'evil',
      azure_api_version: '2024-10-21',
      targets: [{ provider: '@azure' }],
    }),
    'x-gateway-azure-resource-name': 'evil',
  });
  const { target } = await routing.bind(routing.plan.targets[0]!);
  t.deepEqual(target.options, { azure_resource_name: 'mine', azure_api_version: '2024-10-21' });
});

test('headers lead no credential of a config elsewhere', async (t) => {
  const config = { provider: 'azure-openai', api_key: 'k', azure_api_version: '2024-10-21' };
  const routing = await plan(plannerWith({}, false), {
    'x-gateway-config': JSON.stringify(config),
    'x-gateway-azure-resource-name': 'evil',
    'x-gateway-azure-deployment-id': 'd',
  });
  const { target } = await routing.bind(routing.plan.targets[0]!);
  t.deepEqual(target.options, { azure_deployment_id: 'd', azure_api_version: '2024-10-21' });
});

test('inline configs are parsed once, and the ones used last are kept', async (t) => {
  const planner = plannerWith({}, false);
  const text = '{"provider":"openai","api_key":"k"}';
  const first = await plan(planner, { 'x-gateway-config': text });
  for (let i = 0; i < 3000; i++) {
    await plan(planner, { 'x-gateway-config': `{"provider":"openai","api_key":"k${i}"}` });
    if (i % 500 === 0) t.is((await plan(planner, { 'x-gateway-config': text })).plan, first.plan);
  }
});
