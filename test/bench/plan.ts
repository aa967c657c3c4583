// What planning costs, in microseconds: a call by headers, by an inline config of one target, and by one of three
// targets that was seen before; and reading a config for the first time. node test/bench/plan.ts [CALLS]

import { performance } from 'node:perf_hooks';
import { Configs } from '../../src/inference/plan/configs.ts';
import type { PlanDeps } from '../../src/inference/plan/plan-deps.ts';
import { planOf, type Routing } from '../../src/inference/plan/select.ts';
import { providerById } from '../../src/providers/catalog/registry.ts';
import { callWith } from '../support/calls.ts';

const calls = Number(process.argv[2] ?? 200_000);
const deps: PlanDeps = {
  providerById,
  checkHost: () => {},
  isOwnKey: () => false,
  resolveConfig: () => undefined,
  resolveProvider: () => undefined,
  defaultConfig: () => undefined,
  ownsHeader: (name) => name.startsWith('x-gateway-'),
  readGuardrails: () => undefined,
  joinGuardrails: (outer, inner) => inner ?? outer,
};
const planner = { deps: deps, configs: new Configs(deps) };
const targets = ['openai', 'groq', 'anthropic'].map((provider) => ({
  provider,
  api_key: `sk-${provider}`,
  override_params: { model: 'm' },
  retry: { attempts: 2 },
}));
const three = JSON.stringify({ strategy: { mode: 'fallback', on_status_codes: [429, 500, 503] }, targets });

function planned(headers: Record<string, string>): Routing {
  const routing = planOf(
    callWith({ headers, members: { presentedKey: 'slk_x', providerCredential: 'sk-x' } }),
    planner,
    'gpt-4',
  );
  if (routing instanceof Promise) throw new Error('nothing is to be looked up');
  routing.bind(routing.plan.targets[0]!);
  return routing;
}

const cases: Readonly<Record<string, (i: number) => Record<string, string>>> = {
  'by headers': () => ({ 'x-gateway-provider': 'openai', 'x-gateway-custom-host': 'http://127.0.0.1:9' }),
  'inline config of one target': () => ({ 'x-gateway-config': '{"provider":"openai","api_key":"sk-x"}' }),
  'inline config of three targets': () => ({ 'x-gateway-config': three }),
  'config seen for the first time': (i) => ({
    'x-gateway-config': `${three.slice(0, -1)},"request_timeout":${i + 1}}`,
  }),
};
for (const [name, headersOf] of Object.entries(cases)) {
  const count = name.includes('first') ? Math.min(calls, 5000) : calls;
  for (let i = 0; i < count / 10; i++) planned(headersOf(-i + 80_000_000));
  const start = performance.now();
  for (let i = 0; i < count; i++) planned(headersOf(i));
  const us = ((performance.now() - start) * 1000) / count;
  process.stdout.write(`${name.padEnd(34)} ${us.toFixed(2)} us\n`);
}
