// The checks that judge what a call asks for: models, kinds of requests, metadata, tools and parameters.
import test from 'ava';
import type { JsonObject } from '../../src/checks/view/traffic.ts';
import { bench, type CallFacts, call, faultsOf, runOne } from './try-out.ts';

const asking = (model: string | undefined, facts: CallFacts = {}): CallFacts => ({
  ...facts,
  request: { ...(model === undefined ? {} : { model }), messages: [{ role: 'user', content: 'x' }] },
});

const CASES: readonly (readonly [string, JsonObject, CallFacts, boolean, JsonObject?])[] = [
  [
    'modelWhitelist',
    { models: ['gpt-5', 'o3'] },
    asking('gpt-5'),
    true,
    { requestedModel: 'gpt-5', allowedModels: ['gpt-5', 'o3'] },
  ],
  ['modelwhitelist', { models: ['gpt-5'] }, asking('gpt-5-mini'), false],
  ['modelWhitelist', { models: 'gpt-5, o3' }, asking('o3'), true],
  ['modelWhitelist', { models: ['gpt-5*'] }, asking('gpt-5-mini'), true],
  ['modelWhitelist', { models: ['*'] }, asking('anything'), true],
  ['modelWhitelist', { models: ['gpt-5'] }, asking('@team/gpt-5'), true],
  ['modelWhitelist', { models: ['@team/*'] }, asking('@team/gpt-5'), true],
  ['modelWhitelist', { models: ['@other/*'] }, asking('@team/gpt-5'), false],
  ['modelWhitelist', { models: ['openai/gpt-5'] }, asking('gpt-5'), true],
  ['modelWhitelist', { models: ['azure/gpt-5'] }, asking('gpt-5'), false],
  ['modelWhitelist', { models: ['gpt-5'] }, asking(undefined), false],
  ['modelWhitelist', { models: ['gpt-5'], not: true }, asking('gpt-5'), false],
  ['modelWhitelist', { models: ['gpt-5'], not: true }, asking('o3'), true],
  [
    'modelWhitelist',
    { models: ['a'], metadataRules: [{ metadataKey: 'team', values: ['x'], models: ['b'] }] },
    asking('b', { metadata: { team: 'x' } }),
    true,
    { mode: 'metadata_rules' },
  ],
  [
    'modelWhitelist',
    { models: ['a'], metadataRules: [{ metadataKey: 'team', values: ['x'], models: ['b'] }] },
    asking('b', { metadata: { team: 'y' } }),
    false,
  ],

  [
    'modelRules',
    { rules: { defaults: ['a'] } },
    asking('a'),
    true,
    { usingDefaults: true, matchedRules: [] },
  ],
  [
    'modelRules',
    { rules: { defaults: ['a'], metadata: { tier: { gold: ['b', 'c'] } } } },
    asking('b', { metadata: { tier: 'gold' } }),
    true,
    { matchedRules: ['tier:gold'] },
  ],
  [
    'modelRules',
    { rules: { defaults: ['a'], metadata: { tier: { gold: ['b'] } } } },
    asking('a', { metadata: { tier: 'gold' } }),
    false,
  ],
  [
    'modelRules',
    { rules: { defaults: ['a'], metadata: { tier: { gold: ['b'] } } } },
    asking('a', { metadata: { tier: 'tin' } }),
    true,
  ],
  ['modelRules', { rules: { metadata: { tier: { gold: ['b'] } } } }, asking('b'), false],
  [
    'modelRules',
    { rules: { defaults: ['a'], metadata: { x: { toString: ['b'] } } } },
    asking('b', { metadata: {} }),
    false,
  ],

  [
    'allowedRequestTypes',
    { allowedTypes: ['chatComplete'] },
    {},
    true,
    { currentRequestType: 'chatComplete', source: 'parameters', mode: 'allowlist' },
  ],
  ['allowedRequestTypes', { allowedTypes: 'embed, complete' }, {}, false],
  ['allowedRequestTypes', { blockedTypes: ['chatComplete'] }, {}, false, { mode: 'blocklist' }],
  [
    'allowedRequestTypes',
    { allowedTypes: ['chatComplete'], blockedTypes: ['embed'] },
    {},
    true,
    { mode: 'combined' },
  ],
  ['allowedRequestTypes', {}, {}, true, { mode: 'unrestricted', source: 'default' }],
  [
    'allowedRequestTypes',
    {},
    { metadata: { supported_endpoints: 'embed,complete' } },
    false,
    { source: 'metadata' },
  ],
  ['allowedRequestTypes', {}, { metadata: { blocked_endpoints: 'embed' } }, true, { source: 'metadata' }],
  [
    'allowedRequestTypes',
    { allowedTypes: ['embed'] },
    { metadata: { supported_endpoints: 'chatComplete' } },
    false,
  ],

  [
    'requiredMetadataKeys',
    { metadataKeys: ['a', 'b'] },
    { metadata: { a: '1', b: '' } },
    true,
    { found_metadata_keys: ['a', 'b'], operator: 'all' },
  ],
  [
    'requiredMetadataKeys',
    { metadataKeys: ['a', 'b'], operator: 'all' },
    { metadata: { a: '1' } },
    false,
    { missing_metadata_keys: ['b'] },
  ],
  ['requiredMetadataKeys', { metadata_keys: ['a', 'b'], operator: 'any' }, { metadata: { b: '1' } }, true],
  ['requiredMetadataKeys', { metadataKeys: ['a'], operator: 'none' }, { metadata: { a: '1' } }, false],
  ['requiredMetadataKeys', { metadataKeys: ['toString'], operator: 'any' }, {}, false],

  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { env: 'prod' } },
    { metadata: { env: 'prod' } },
    true,
    { matched_metadata_keys: ['env'] },
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { env: ['dev', 'prod'] } },
    { metadata: { env: 'prod' } },
    true,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { env: 'prod' } },
    { metadata: { env: 'production' } },
    false,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { env: 'prod' }, matchType: 'contains' },
    { metadata: { env: 'production' } },
    true,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { t: ['a', 'b'] }, matchType: 'containsAll' },
    { metadata: { t: 'b,c' } },
    false,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { t: ['a', 'b'] }, matchType: 'containsAll' },
    { metadata: { t: 'b,a' } },
    true,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { u: '^\\d+$' }, matchType: 'regex' },
    { metadata: { u: '42' } },
    true,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { u: '^\\d+$' }, matchType: 'regex' },
    { metadata: { u: 'x' } },
    false,
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { a: '1', b: '2' }, operator: 'any' },
    { metadata: { b: '2' } },
    true,
    { unmatched_metadata_keys: ['a'] },
  ],
  [
    'requiredMetadataKeyPairs',
    { metadataPairs: { a: '1' }, operator: 'none' },
    { metadata: { a: '1' } },
    false,
  ],
];

test('what a call asks for, one case after another', async (t) => {
  const checks = bench(t);
  for (const [id, parameters, facts, verdict, data] of CASES) {
    const what = `${id} ${JSON.stringify(parameters)} ${JSON.stringify(facts)}`;
    const result = await runOne(checks, call(facts), id, parameters);
    t.is(result.error, undefined, what);
    t.is(result.verdict, verdict, what);
    if (data !== undefined) t.like(result.data, data, what);
  }
});

test('tools and parameters of a request', async (t) => {
  const checks = bench(t);
  const request = {
    model: 'm',
    temperature: 1.5,
    stop: ['a', 'b'],
    tools: [{ type: 'function', function: { name: 'send_mail' } }, { type: 'web_search' }],
    messages: [],
  };
  const rows: readonly (readonly [JsonObject, boolean])[] = [
    [{ tools: { allowedTypes: ['function', 'web_search'] } }, true],
    [{ tools: { allowedTypes: ['function'] } }, false],
    [{ tools: { blockedTypes: 'web_search' } }, false],
    [{ tools: { blockedFunctionNames: ['send_mail'] } }, false],
    [{ tools: { allowedFunctionNames: ['send_mail'] } }, true],
    [{ tools: { allowed_function_names: ['read'] } }, false],
    [{ params: { blockedKeys: ['temperature'] } }, false],
    [{ params: { blockedKeys: ['top_p'] } }, true],
    [{ params: { allowedKeys: ['model', 'messages'] } }, false],
    [{ params: { values: { temperature: { blockedValues: [1.5] } } } }, false],
    [{ params: { values: { temperature: { allowedValues: [0, 1, 1.5] } } } }, true],
    [{ params: { values: { stop: { allowedValues: ['a'] } } } }, false],
    [{ params: { values: { top_p: { allowedValues: [1] } } } }, true],
    [{}, true],
    [
      {
        tools: { allowedTypes: [], blockedTypes: [] },
        params: { allowedKeys: [], values: { stop: { allowedValues: [] } } },
      },
      true,
    ],
  ];
  for (const [parameters, verdict] of rows) {
    const result = await runOne(checks, call({ request }), 'requestParametersCheck', parameters);
    t.is(result.verdict, verdict, JSON.stringify(parameters));
  }
});

test('parameters of these checks that are not well', (t) => {
  const rows: readonly (readonly [JsonObject, RegExp])[] = [
    [{ modelWhitelist: {} }, /modelWhitelist\.models: is required/],
    [
      { modelWhitelist: { metadataRules: [{ values: ['a'], models: ['b'] }] } },
      /metadataRules\[0\]\.metadataKey: is required/,
    ],
    [{ modelRules: { rules: {} } }, /rules: must hold defaults/],
    [{ modelRules: { rules: { metadata: { a: { b: [] } } } } }, /rules\.metadata\.a\.b: must not be empty/],
    [{ allowedRequestTypes: { allowedTypes: ['chat'] } }, /allowedTypes\[0\]: must be one of complete/],
    [
      { allowedRequestTypes: { allowedTypes: ['embed'], blockedTypes: ['embed'] } },
      /blockedTypes: holds embed/,
    ],
    [{ requiredMetadataKeys: { metadataKeys: [] } }, /metadataKeys: must not be empty/],
    [{ requiredMetadataKeyPairs: { metadataPairs: {} } }, /metadataPairs: must not be empty/],
    [
      { requiredMetadataKeyPairs: { metadataPairs: { a: '(' }, matchType: 'regex' } },
      /metadataPairs\.a\[0\]: is not a regular/,
    ],
    [{ requestParametersCheck: { tools: { allowed: [] } } }, /tools\.allowed: is not known here/],
  ];
  for (const [hook, pattern] of rows) t.regex(faultsOf('input', hook).join('\n'), pattern);
  t.regex(faultsOf('output', { modelWhitelist: { models: ['a'] } })[0] ?? '', /cannot run on the output/);
});
