// Anything that JSON can say, where a config is expected: a plan or faults, never an exception, never a long time.
import test from 'ava';
import fc from 'fast-check';
import { RoutingConfigSchema } from '../../../gen/gateway/inference/v2/config_pb.ts';
import { parseConfig } from '../../../src/inference/plan/parse-config.ts';
import { withSlack } from '../../support/slack.ts';
import { factsWith } from './facts.ts';

const MEMBERS = [
  ...RoutingConfigSchema.fields.map(({ name }) => name),
  ...RoutingConfigSchema.fields.map(({ jsonName }) => jsonName),
  'mode',
  'conditions',
  'query',
  'then',
  'default',
  'sticky',
  'enabled',
  'hash_fields',
  'ttl',
  'algorithm',
  'hedge',
  'after_ms',
  'max',
  'attempts',
  'max_age',
  'embeddings',
  'failure_threshold',
  '$and',
  '$or',
  '$not',
  '$regex',
  '$in',
  'metadata.a',
  'params.a.b',
  'url.pathname',
  '__proto__',
  'constructor',
  'azure_api_version',
  'deployment_id',
];
const WORDS = [
  'fallback',
  'loadbalance',
  'conditional',
  'single',
  'openai',
  '@mine',
  'groq',
  'a',
  '',
  'simple',
  '(a+)+',
  'saved',
];

const { value } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium', maxDepth: 7 },
    fc.constantFrom(...WORDS),
    fc.constantFrom(0, 1, -1, 0.5, 429, 1e9, true, false, null),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...MEMBERS), tie('value'), { maxKeys: 5 }),
    fc.record({ strategy: tie('value'), targets: fc.array(tie('value'), { maxLength: 3 }) }),
    fc.record(
      { provider: fc.constantFrom('openai', 'groq', '@mine'), api_key: tie('value'), name: tie('value') },
      { requiredKeys: ['provider'] },
    ),
  ),
}));

test('any JSON is a plan or has faults', (t) => {
  const deps = factsWith({
    stored: ['mine'],
    saved: { saved: { strategy: { mode: 'fallback' }, targets: [{ config: 'saved' }] } },
  });
  let plans = 0;
  fc.assert(
    fc.property(value, (json) => {
      const began = performance.now();
      const { plan, faults } = parseConfig(json, deps);
      if (performance.now() - began > 500) throw new Error('it took too long');
      if (plan === undefined)
        return (
          (faults ?? []).length > 0 && faults!.every(({ path, message }) => path !== '' && message !== '')
        );
      plans++;
      return plan.targets.length > 0 && plan.maxAttempts > 0 && plan.maxAttempts <= 1000;
    }),
    { numRuns: 3000 },
  );
  t.true(plans > 0);
});

test('what is very deep, very long or very wide is refused, and not for long', (t) => {
  const deps = factsWith();
  let deep: unknown = { provider: 'openai', api_key: 'k' };
  for (let i = 0; i < 20_000; i++) deep = { strategy: { mode: 'single' }, targets: [deep] };
  let query: unknown = { 'metadata.a': 1 };
  for (let i = 0; i < 20_000; i++) query = { $not: query };
  const wide = Array.from({ length: 100 }, () => ({
    strategy: { mode: 'fallback' },
    targets: Array.from({ length: 100 }, () => ({
      provider: 'openai',
      api_key: 'k',
      retry: { attempts: 5 },
    })),
  }));
  const leaf = { provider: 'openai', api_key: 'k', name: 'a' };
  for (const config of [
    deep,
    // biome-ignore lint/suspicious/noThenProperty: the config's own word
    { strategy: { mode: 'conditional', conditions: [{ query, then: 'a' }] }, targets: [leaf] },
    { strategy: { mode: 'fallback' }, targets: wide },
    { strategy: { mode: 'fallback' }, targets: Array.from({ length: 100_000 }, () => leaf) },
    { provider: 'openai', api_key: 'k', name: 'x'.repeat(5_000_000) },
  ]) {
    const began = performance.now();
    const { faults } = parseConfig(config, deps);
    t.true((faults?.length ?? 0) > 0);
    t.true(performance.now() - began < withSlack(2000));
  }
});
