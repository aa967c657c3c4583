// What is wrong with a config: every fault, each with its path.
import test from 'ava';
import { parseConfig } from '../../../src/inference/plan/parse-config.ts';
import { fail } from '../../../src/lib/errors.ts';
import { factsWith, when } from './facts.ts';

const A = { provider: 'openai', api_key: 'a', name: 'a' };
const B = { provider: 'groq', api_key: 'b', name: 'b' };
const balance = (...targets: object[]): object => ({ strategy: { mode: 'loadbalance' }, targets });
const conditional = (query: unknown, then = 'a', more: object = {}): object => ({
  strategy: { mode: 'conditional', conditions: [when(query, then)], ...more },
  targets: [A, B],
});
const q = 'strategy.conditions[0].query';
let deep: object = A;
for (let i = 0; i < 40; i++) deep = { strategy: { mode: 'single' }, targets: [deep] };

/** A config and its faults, as `path: message`; a message in part. */
const CASES: readonly (readonly [string, unknown, readonly string[]])[] = [
  ['no object', [], ['config: must be an object']],
  ['empty targets', { strategy: { mode: 'fallback' }, targets: [] }, ['targets: must not be empty']],
  ['targets that are none', { targets: {} }, ['targets: must be an array']],
  ['a target that is none', { targets: [7] }, ['targets[0]: must be an object']],
  ['a strategy without targets', { strategy: { mode: 'fallback' } }, ['targets: is required']],
  ['a strategy without a mode', { strategy: {}, targets: [A] }, ['strategy.mode: is required']],
  ['all weights zero', balance({ ...A, weight: 0 }, { ...B, weight: 0 }), ['targets: at least one']],
  ['a negative weight', balance({ ...A, weight: -1 }, B), ['targets[0].weight: must be at least 0']],
  ['a weight that is text', balance({ ...A, weight: '1' }, B), ['targets[0].weight: must be a number']],
  ['the same name twice', balance(A, { ...B, name: 'a' }), ['targets[1].name: is the name of another']],
  [
    'names missing where conditions choose',
    {
      strategy: { mode: 'conditional', conditions: [when({ 'metadata.x': 1 }, 'a')] },
      targets: [A, { ...B, name: undefined }],
    },
    ['targets[1].name: is required where conditions choose'],
  ],
  [
    'no conditions',
    { strategy: { mode: 'conditional' }, targets: [A, B] },
    ['strategy.conditions: is required'],
  ],
  [
    'a condition for nobody',
    conditional({ 'metadata.x': 1 }, 'c'),
    ['strategy.conditions[0].then: names no target: c'],
  ],
  [
    'a default for nobody',
    conditional({ 'metadata.x': 1 }, 'a', { default: 'z' }),
    ['strategy.default: names no target'],
  ],
  [
    'an unknown operator',
    conditional({ 'metadata.x': { $like: 1 } }),
    [`${q}.metadata.x.$like: is an unknown operator`],
  ],
  ['an unknown operator above', conditional({ $xor: [] }), [`${q}.$xor: is an unknown operator`]],
  ['an unknown root', conditional({ 'body.x': 1 }), [`${q}.body.x: must begin with`]],
  ['an empty query', conditional({}), [`${q}: must not be empty`]],
  ['an $and of nothing', conditional({ $and: [] }), [`${q}.$and: must be an array`]],
  ['a $gt of a word', conditional({ 'params.x': { $gt: 'many' } }), [`${q}.params.x.$gt: must be a number`]],
  [
    'an $in that is no list',
    conditional({ 'params.x': { $in: 'a' } }),
    [`${q}.params.x.$in: must be an array`],
  ],
  [
    'a broken pattern',
    conditional({ 'params.x': { $regex: '(' } }),
    [`${q}.params.x.$regex: is not a pattern`],
  ],
  [
    'too many retries',
    { ...A, retry: { attempts: 6 } },
    ['retry.attempts: must be at least 0 and at most 5'],
  ],
  ['retries without a number', { ...A, retry: {} }, ['retry.attempts: is required']],
  [
    'a status that is none',
    { ...A, retry: { attempts: 1, on_status_codes: [42] } },
    ['retry.on_status_codes[0]: must be at least 200'],
  ],
  ['a timeout of nothing', { ...A, request_timeout: 0 }, ['request_timeout: must be at least 1']],
  [
    'a hedge without its time',
    { ...A, strategy: { mode: 'single', hedge: {} }, targets: [{}] },
    ['strategy.hedge.after_ms: is required'],
  ],
  [
    'sticky without fields',
    { strategy: { mode: 'loadbalance', sticky: { enabled: true } }, targets: [A, B] },
    ['strategy.sticky.hash_fields: is required'],
  ],
  [
    'sticky by what is not there',
    {
      strategy: { mode: 'loadbalance', sticky: { enabled: true, hash_fields: ['body.x'] } },
      targets: [A, B],
    },
    ['strategy.sticky.hash_fields[0]: must begin with'],
  ],
  [
    'a breaker without a threshold',
    { ...A, cb_config: { cooldown_interval: 30000 } },
    ['cb_config: must have'],
  ],
  ['a cache of no mode', { ...A, cache: { max_age: 1 } }, ['cache.mode: is required']],
  [
    'codes of another strategy',
    { strategy: { mode: 'loadbalance', on_status_codes: [429] }, targets: [A, B] },
    ['strategy.on_status_codes: is for the strategy "fallback" only'],
  ],
  ['the same member twice', { ...A, apiKey: 'b' }, ['apiKey: says the same as api_key']],
  ['an unknown member', { ...A, colour: 1 }, ['colour: is not known']],
  [
    'another provider’s option',
    { ...A, azure_api_version: 'x' },
    ['azure_api_version: is not an option of openai'],
  ],
  ['an unknown provider', { provider: 'nobody' }, ['provider: is not a known provider: nobody']],
  ['an unknown stored provider', { provider: '@mine' }, ['provider: there is no stored provider mine']],
  ['an unknown virtual key', { virtual_key: 'mine' }, ['virtual_key: there is no stored provider mine']],
  [
    'an unknown saved config',
    { strategy: { mode: 'fallback' }, targets: [A, { config: 'nope' }] },
    ['targets[1].config: there is no saved config nope'],
  ],
  [
    'a saved config that leads back',
    { strategy: { mode: 'fallback' }, targets: [A, { config: 'round' }] },
    ['targets[1].targets[0].config: leads back to itself: round -> round'],
  ],
  [
    'members beside a saved config',
    { strategy: { mode: 'fallback' }, targets: [A, { config: 'good', retry: { attempts: 1 } }] },
    ['targets[1].retry: must not stand beside'],
  ],
  [
    'one key for two providers',
    { api_key: 'k', strategy: { mode: 'fallback' }, targets: [{ provider: 'openai' }, { provider: 'groq' }] },
    ['targets[1].api_key: is required: api_key would go to two providers'],
  ],
  ['a key of nobody', { api_key: 'k', retry: { attempts: 1 } }, ['provider: is required with a credential']],
  [
    'a key of this gateway',
    { ...A, api_key: 'slk_own' },
    ["api_key: a key of this gateway is no provider's credential"],
  ],
  [
    'headers that stay here',
    { ...A, forward_headers: ['x-a', 'x-gateway-api-key', 'Host', 'a b'] },
    [
      'forward_headers[1]: must not contain',
      'forward_headers[2]: must not contain',
      'forward_headers[3]: must hold header names',
    ],
  ],
  ['a host that may not be called', { ...A, custom_host: 'http://10.0.0.1' }, ['custom_host: refused']],
  [
    'defaults of guardrails below the top',
    { strategy: { mode: 'fallback' }, targets: [{ ...A, default_input_guardrails: [] }, B] },
    ['targets[0].default_input_guardrails: belongs to the top'],
  ],
  ['targets too deep', deep, [`${'targets[0].'.repeat(32)}targets: must not be nested deeper than 32`]],
  [
    'all at once',
    {
      strategy: { mode: 'fallback', on_status_codes: ['x'] },
      targets: [
        { ...A, weight: -1, retry: { attempts: 'many' } },
        { provider: 7, colour: 1 },
      ],
    },
    [
      'strategy.on_status_codes[0]: must be a whole number',
      'targets[0].weight: must be at least 0',
      'targets[0].retry.attempts: must be a whole number',
      'targets[1].provider: must be a string',
      'targets[1].colour: is not known',
    ],
  ],
];

for (const [name, config, expected] of CASES) {
  test(name, (t) => {
    const { faults } = parseConfig(
      config,
      factsWith({
        saved: { good: A, round: { strategy: { mode: 'fallback' }, targets: [{ config: 'round' }] } },
        checkHost: (url) => {
          if (url.includes('10.0')) throw fail('host_refused', 'refused');
        },
      }),
    );
    const texts = (faults ?? []).map(({ path, message }) => `${path}: ${message}`).sort();
    t.is(texts.length, expected.length, texts.join('\n'));
    for (const [i, text] of [...expected].sort().entries())
      t.true(texts[i]!.startsWith(text), `${texts[i]} | ${text}`);
  });
}

test('a config may not refer to itself when it is saved', (t) => {
  const { faults } = parseConfig(
    { strategy: { mode: 'fallback' }, targets: [A, { config: 'me' }] },
    factsWith({ saved: { me: A } }),
    'me',
  );
  t.deepEqual(faults, [{ path: 'targets[1].config', message: 'leads back to itself: me -> me' }]);
});
