// Conditions: every operator, over members at any depth and own properties only.
import test from 'ava';
import {
  type ConditionContext,
  conditionLimits,
  holds,
  parseCondition,
} from '../../../src/inference/plan/condition.ts';

const METADATA = { tier: 'gold', n: '5', 'a.b': 'dotted', deep: { list: [{ x: 1 }, { x: 2 }] }, none: null };
const PARAMS = {
  model: 'gpt-4o',
  temperature: 0.5,
  stream: false,
  stop: ['a', 'b'],
  messages: [{ role: 'user' }],
};

const CASES: readonly (readonly [unknown, boolean])[] = [
  [{ 'metadata.tier': 'gold' }, true],
  [{ 'metadata.tier': 'silver' }, false],
  [{ 'metadata.tier': { $eq: 'gold' } }, true],
  [{ 'metadata.tier': { $ne: 'gold' } }, false],
  [{ 'metadata.tier': { $ne: 'silver' } }, true],
  [{ 'metadata.absent': { $ne: 'silver' } }, true],
  [{ 'metadata.absent': { $nin: ['silver'] } }, true],
  [{ 'metadata.absent': { $eq: null } }, false],
  [{ 'metadata.absent': { $lt: 5 } }, false],
  [{ 'metadata.absent': { $in: ['silver'] } }, false],
  [{ 'metadata.absent': { $regex: '' } }, false],
  [{ $not: { 'metadata.absent': 'x' } }, true],
  [{ 'metadata.n': { $gt: 4 } }, true],
  [{ 'metadata.n': { $gt: 5 } }, false],
  [{ 'metadata.n': { $gte: 5, $lte: 5 } }, true],
  [{ 'metadata.n': { $lt: '6.5' } }, true],
  [{ 'metadata.tier': { $gt: 1 } }, false],
  [{ 'metadata.a.b': 'dotted' }, true],
  [{ 'metadata.deep.list[1].x': 2 }, true],
  [{ 'metadata.deep.list.0.x': 1 }, true],
  [{ 'metadata.deep.list[7].x': 1 }, false],
  [{ 'metadata.none': null }, true],
  [{ 'metadata.constructor.name': 'Object' }, false],
  [{ 'metadata.deep.list.length': 2 }, true],
  [{ 'metadata.__proto__.x': 1 }, false],
  [{ 'params.stream': false }, true],
  [{ 'params.temperature': { $in: [0.5, 1] } }, true],
  [{ 'params.stop': { $in: ['b'] } }, true],
  [{ 'params.stop': { $nin: ['b'] } }, false],
  [{ 'params.model': { $regex: '^gpt-4' } }, true],
  [{ 'params.model': { $regex: '^GPT' } }, false],
  [{ 'params.model': { $regex: '^gpt', $ne: 'gpt-4o' } }, false],
  [{ 'params.temperature': { $regex: '0' } }, false],
  [{ 'params.messages[0].role': 'user', 'metadata.tier': 'gold' }, true],
  [{ 'params.messages[0].role': 'user', 'metadata.tier': 'x' }, false],
  [{ $and: [{ 'metadata.tier': 'gold' }], 'params.model': 'no' }, false],
  [
    { $or: [{ 'metadata.tier': 'x' }, { $and: [{ 'params.model': 'gpt-4o' }, { 'metadata.n': '5' }] }] },
    true,
  ],
  [{ $or: [{ 'metadata.tier': 'x' }, { 'metadata.tier': 'y' }] }, false],
  [{ 'url.pathname': '/v1/chat/completions' }, true],
];

for (const [query, expected] of CASES) {
  test(`${JSON.stringify(query)} is ${expected}`, async (t) => {
    const faults: { path: string; message: string }[] = [];
    const condition = parseCondition(query, 'query', faults);
    t.deepEqual(faults, []);
    t.is(await holds(condition!, CONTEXT), expected);
  });
}

test('only patterns whose time is bounded are tried here; others go where they can be ended', async (t) => {
  const asked: string[] = [];
  const context: ConditionContext = {
    ...CONTEXT,
    matches: async (pattern, _, steps) => {
      if (steps === undefined) asked.push(pattern.source);
      return true;
    },
  };
  const tame = ['^gpt-4', 'a+b', '^(gpt|claude)-', '[a-z]{2,5}x', 'colou?r', '\\d+'];
  const wild = [
    '(a+)+',
    '(a|a)*',
    'a*a*',
    '(.)\\1',
    '(?=a)b',
    '(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)(a|b)',
    '(ab){3}',
  ];
  for (const pattern of [...tame, ...wild]) {
    const condition = parseCondition({ 'params.model': { $regex: pattern } }, 'q', []);
    await holds(condition!, context);
  }
  t.deepEqual(asked, wild);
});

const CONTEXT: ConditionContext = {
  metadata: () => METADATA,
  params: () => PARAMS,
  pathname: '/v1/chat/completions',
  matches: async (pattern, text) => pattern.test(text),
};

test('the conditions of a config have bounds together, and the member that passes one is named', (t) => {
  const faultsOf = (queries: readonly object[]): string[] => {
    const faults: { path: string; message: string }[] = [];
    const limits = conditionLimits();
    for (const [i, query] of queries.entries()) parseCondition(query, `q[${i}]`, faults, limits);
    return faults.map(({ path, message }) => `${path}: ${message}`);
  };
  const patterns = (many: number) => Array.from({ length: many }, () => ({ 'params.a': { $regex: 'x' } }));
  t.deepEqual(faultsOf(patterns(50)), []);
  t.deepEqual(faultsOf(patterns(60)), [
    'q[50].params.a.$regex: is more than the 50 patterns in conditions of a config',
  ]);
  const nested = { $or: Array.from({ length: 501 }, (_, i) => ({ 'params.a': i })) };
  t.deepEqual(faultsOf([nested]), [
    'q[0].$or[500].params.a: is more than the 500 tests in conditions of a config',
  ]);
  const list = { 'params.a': { $in: Array.from({ length: 2600 }, (_, i) => i) } };
  t.regex(faultsOf([list, list]).join(), /^q\[1\]\.params\.a\.\$in: is more than the 5000 values/);
  t.regex(faultsOf([{ [`params.${'a.'.repeat(4000)}b`]: 1 }]).join(), /more than 256 characters/);
});

test('a pattern that could not be tried in time decides nothing, whichever way it is put', async (t) => {
  const context = { ...CONTEXT, params: () => ({ a: 'x' }), matches: async () => undefined };
  const asked = async (query: object) => holds(parseCondition(query, 'q', [])!, context);
  const slow = { 'params.a': { $regex: '(a+)+$' } };
  t.false(await asked(slow));
  t.false(await asked({ $not: slow }));
  t.false(await asked({ $and: [{ $not: slow }, { 'params.a': 'x' }] }));
  t.true(await asked({ $or: [slow, { 'params.a': 'x' }] }));
  t.false(await asked({ $not: { $or: [slow, { 'params.a': 'y' }] } }));
});
