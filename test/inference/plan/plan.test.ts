// A config's plan: spellings, what targets inherit, how many calls it can become.
import test from 'ava';
import { parseConfig } from '../../../src/inference/plan/parse-config.ts';
import type { Plan, TargetPlan, WholePlan } from '../../../src/inference/plan/plan.ts';
import { factsWith, type TestFacts } from './facts.ts';

function planOf(config: unknown, facts: TestFacts = {}): WholePlan {
  const { plan, faults } = parseConfig(config, factsWith(facts));
  if (plan === undefined) throw new Error(JSON.stringify(faults));
  return plan;
}

const target = (config: unknown, index = 0): TargetPlan => planOf(config).targets[index]!;

test('both spellings say the same', (t) => {
  const snake = {
    strategy: { mode: 'fallback', on_status_codes: [429] },
    retry: { attempts: 2, on_status_codes: [500], use_retry_after_header: true },
    request_timeout: 100,
    targets: [
      {
        provider: 'openai',
        api_key: 'k',
        custom_host: 'https://a.example',
        forward_headers: ['x-a'],
        strict_open_ai_compliance: false,
        override_params: { max_tokens: 1 },
        cb_config: { failure_threshold: 3, cooldown_interval: 30000, failure_status_codes: [500] },
        openai_project: 'p',
      },
      {
        provider: 'ollama',
        custom_host: 'https://b.example',
        drop_params: ['a.b'],
        default_params: { top_p: 1 },
      },
    ],
  };
  const camel = {
    strategy: { mode: 'fallback', onStatusCodes: [429] },
    retry: { attempts: 2, onStatusCodes: [500], useRetryAfterHeaders: true },
    requestTimeout: 100,
    targets: [
      {
        provider: 'openai',
        apiKey: 'k',
        customHost: 'https://a.example',
        forwardHeaders: ['x-a'],
        strictOpenAiCompliance: false,
        overrideParams: { max_tokens: 1 },
        cbConfig: { failureThreshold: 3, cooldownInterval: 30000, failureStatusCodes: [500] },
        openaiProject: 'p',
      },
      {
        provider: 'ollama',
        customHost: 'https://b.example',
        dropParams: ['a.b'],
        defaultParams: { top_p: 1 },
      },
    ],
  };
  t.deepEqual(planOf(camel).root, planOf(snake).root);
});

test('targets inherit: parameters merge, everything else is replaced', (t) => {
  const config = {
    strategy: { mode: 'fallback' },
    override_params: { model: 'm', temperature: 0 },
    drop_params: ['user'],
    retry: { attempts: 3 },
    request_timeout: 1000,
    custom_host: 'https://all.example',
    forward_headers: ['x-a'],
    strict_open_ai_compliance: false,
    cache: { mode: 'simple', max_age: 60 },
    cb_config: { failure_threshold: 2 },
    targets: [
      { provider: 'openai', api_key: 'a' },
      {
        provider: 'groq',
        api_key: 'b',
        override_params: { temperature: 1 },
        drop_params: ['seed'],
        retry: { attempts: 1 },
        request_timeout: 50,
        custom_host: 'https://own.example',
        forward_headers: [],
        strict_open_ai_compliance: true,
      },
    ],
  };
  t.like(target(config, 0), {
    apiKey: 'a',
    timeoutMs: 1000,
    customHost: 'https://all.example',
    strict: false,
    retry: { attempts: 3 },
    breaker: { failures: 2, cooldownMs: 30_000 },
    cache: { maxAgeSeconds: 60 },
  });
  t.deepEqual(target(config, 0).forwardHeaders, ['x-a']);
  const second = target(config, 1);
  t.like(second, { timeoutMs: 50, customHost: 'https://own.example', strict: true, retry: { attempts: 1 } });
  t.deepEqual(second.forwardHeaders, []);
  t.deepEqual(second.params, {
    defaults: {},
    overrides: { model: 'm', temperature: 1 },
    drops: [['user'], ['seed']],
  });
});

test('a credential goes no further than to targets of its own provider', (t) => {
  const config = {
    provider: 'openai',
    api_key: 'o',
    strategy: { mode: 'fallback' },
    targets: [{}, { provider: 'ollama', custom_host: 'https://o.example' }, { provider: 'openai' }],
  };
  t.deepEqual(
    planOf(config).targets.map(({ apiKey }) => apiKey),
    ['o', undefined, 'o'],
  );
});

test('paths, names and weights', (t) => {
  const { root, targets } = planOf({
    strategy: { mode: 'loadbalance' },
    targets: [
      { provider: 'openai', api_key: 'a', weight: 0 },
      {
        name: 'inner',
        strategy: { mode: 'fallback' },
        targets: [{ provider: 'openai', api_key: 'a' }, { targets: [{ provider: 'groq', api_key: 'b' }] }],
      },
    ],
  });
  t.is(root.kind, 'balance');
  // A weight of 0 is never chosen; what is left keeps its place.
  t.deepEqual(
    (root as Extract<Plan, { kind: 'balance' }>).targets.map(({ path, name }) => [path, name]),
    [['config.targets[1]', 'inner']],
  );
  t.deepEqual(
    targets.map(({ path }) => path),
    ['config.targets[1].targets[0]', 'config.targets[1].targets[1].targets[0]'],
  );
});

test('most calls of a plan', (t) => {
  const one = { provider: 'openai', api_key: 'a', retry: { attempts: 2 } };
  t.is(planOf(one).maxAttempts, 3);
  t.is(planOf({ strategy: { mode: 'fallback' }, targets: [one, one] }).maxAttempts, 6);
  t.is(planOf({ strategy: { mode: 'loadbalance' }, targets: [one, one] }).maxAttempts, 3);
  t.is(
    planOf({ strategy: { mode: 'loadbalance', hedge: { after_ms: 5, max: 2 } }, targets: [one, one] })
      .maxAttempts,
    9,
  );
  t.is(planOf({ strategy: { mode: 'single', hedge: { after_ms: 5 } }, targets: [one] }).maxAttempts, 6);
});

test('a saved config in the place of a target', (t) => {
  const { targets } = planOf(
    {
      strategy: { mode: 'fallback' },
      targets: [
        { provider: 'openai', api_key: 'a' },
        { config: 'spare', name: 'x' },
      ],
    },
    {
      saved: {
        spare: {
          strategy: { mode: 'loadbalance' },
          targets: [{ provider: 'groq', api_key: 'g' }, { provider: '@mine' }],
        },
      },
      stored: ['mine'],
    },
  );
  t.deepEqual(
    targets.map(({ path, slug }) => [path, slug]),
    [
      ['config.targets[0]', undefined],
      ['config.targets[1].targets[0]', undefined],
      ['config.targets[1].targets[1]', 'mine'],
    ],
  );
});

test('what needs no routing is known', (t) => {
  t.true(planOf({ provider: 'openai', api_key: 'k', override_params: { model: 'm' } }).straight);
  t.false(planOf({ provider: 'openai', api_key: 'k', retry: { attempts: 1 } }).straight);
  t.false(planOf({ provider: 'openai', api_key: 'k', request_timeout: 5 }).straight);
});
