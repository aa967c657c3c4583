// Guardrails as they stand in configs: every form, every spelling, every fault with its path.
import test from 'ava';
import fc from 'fast-check';
import {
  GUARDRAIL_KEYS,
  joinGuardrails,
  type PathFault,
  parseGuardrailList,
  parseGuardrails,
  parseSavedGuardrail,
  withSaved,
} from '../../src/checks/guardrails.ts';
import { CHECKS, findCheck } from '../../src/checks/registry.ts';

function parse(value: unknown, path = '') {
  const faults: PathFault[] = [];
  return {
    read: parseGuardrails(value, path, faults),
    faults: faults.map((fault) => `${fault.path}: ${fault.message}`),
  };
}

const CHECK = { words: ['x'], operator: 'any' };

test('the full and the short form, in snake and in camel case', (t) => {
  const full = {
    id: 'mine',
    type: 'guardrail',
    deny: true,
    async: false,
    sequential: true,
    on_fail: { feedback: { value: -3, weight: 0.5, metadata: { a: 'b' } } },
    checks: [{ id: 'default.contains', parameters: CHECK, is_enabled: true, name: 'words' }],
    guardrail_version_id: 'v1',
  };
  const { onFail, camel } = { onFail: full.on_fail, camel: { guardrailVersionId: 'v1' } };
  const { on_fail: _, guardrail_version_id: __, ...rest } = full;
  const short = { ...rest, type: undefined, checks: undefined, 'default.contains': CHECK };
  for (const config of [
    { before_request_hooks: [full] },
    { beforeRequestHooks: [{ ...rest, onFail, ...camel }] },
    {
      input_guardrails: [
        JSON.parse(JSON.stringify({ ...short, on_fail: onFail, guardrail_version_id: 'v1' })),
      ],
    },
    { inputGuardrails: [JSON.parse(JSON.stringify({ ...short, onFail, ...camel }))] },
    { inputGuardrails: [{ ...rest, onFail, ...camel }] },
    { default_input_guardrails: [JSON.parse(JSON.stringify({ ...short, onFail, ...camel }))] },
  ]) {
    const { read, faults } = parse(config);
    t.deepEqual(faults, []);
    t.is(read?.input.length, 1);
    t.deepEqual(read?.output, []);
    t.like(read?.input[0], {
      id: 'mine',
      type: 'guardrail',
      event: 'input',
      deny: true,
      async: false,
      sequential: true,
      onFail: { value: -3, weight: 0.5, metadata: { a: 'b' } },
      onSuccess: undefined,
      versionId: 'v1',
    });
    t.like(read?.input[0]?.checks[0], {
      id: 'default.contains',
      onError: { default: 'pass', closed: true },
      scope: 'last',
      timeoutMs: 5000,
    });
  }
});

test('each key goes to its side, with its type and an id of its own', (t) => {
  const short = [{ contains: CHECK }];
  const { read } = parse({
    input_guardrails: short,
    output_guardrails: short,
    input_mutators: [{ addPrefix: { prefix: 'x' } }],
    output_mutators: [{ regexReplace: { rule: 'x' } }],
    default_output_guardrails: short,
    model: 'not looked at',
  });
  t.deepEqual(
    read?.input.map(({ id, type }) => [id, type]),
    [
      ['input_mutator_1', 'mutator'],
      ['input_guardrail_1', 'guardrail'],
    ],
  );
  t.deepEqual(
    read?.output.map(({ id }) => id),
    ['default_output_guardrail_1', 'output_mutator_1', 'output_guardrail_1'],
  );
  t.is(parse({ model: 'x' }).read, undefined);
  t.is(parse('text').read, undefined);
  t.is(GUARDRAIL_KEYS.length, 8);
});

test('checks used twice, switched off, and settings that all checks share', (t) => {
  const { read, faults } = parse({
    output_guardrails: [
      {
        first: { id: 'contains', ...CHECK },
        second: { id: 'default.contains', ...CHECK, is_enabled: true },
        wordCount: { maxWords: 1, isEnabled: false },
        notNull: { failOnError: true, timeout: 100, scope: 'all', include_tool_calls: false },
        on_error: 'fail',
        scope: 'user',
      },
    ],
  });
  t.deepEqual(faults, []);
  const checks = read?.output[0]?.checks ?? [];
  t.deepEqual(
    checks.map(({ id }) => id),
    ['default.contains', 'default.contains', 'default.notNull'],
  );
  t.like(checks[0], { onError: { default: 'fail', closed: false }, scope: 'user', beside: undefined });
  t.like(checks[2], {
    onError: { default: 'fail', closed: false },
    scope: 'all',
    timeoutMs: 100,
    beside: false,
  });
  // A check that is off is read all the same.
  t.is(parse({ input_guardrails: [{ wordCount: { maxWords: 'x', is_enabled: false } }] }).faults.length, 1);
});

test('all faults come at once, each with its path', (t) => {
  const { read, faults } = parse(
    {
      input_guardrails: [{ contains: { words: [] }, deny: 'yes' }, {}, 7, '', { nope: {} }, { noSuch: 3 }],
      outputGuardrails: 'text',
      before_request_hooks: [
        { checks: [] },
        { checks: [{}], extra: 1 },
        { checks: [{ id: 'contains', parameters: [] }], type: 'gate' },
      ],
      after_request_hooks: [{ checks: [{ id: 'modelWhitelist', parameters: { models: ['a'] }, color: 1 }] }],
      input_mutators: [{ addPrefix: { prefix: 'x' }, on_fail: { feedback: { value: 'bad', metadata: [] } } }],
      inputMutators: [],
    },
    'targets[1]',
  );
  t.is(read, undefined);
  const expected = [
    /^targets\[1\]\.input_guardrails\[0\]\.deny: must be true or false$/,
    /^targets\[1\]\.input_guardrails\[0\]\.contains\.operator: is required$/,
    /^targets\[1\]\.input_guardrails\[0\]\.contains\.words: must not be empty$/,
    /^targets\[1\]\.input_guardrails\[1\]: holds no check$/,
    /^targets\[1\]\.input_guardrails\[2\]: must be the name of a guardrail or an object$/,
    /^targets\[1\]\.input_guardrails\[3\]: must name a guardrail$/,
    /^targets\[1\]\.input_guardrails\[4\]\.nope: there is no check called "nope"$/,
    /^targets\[1\]\.input_guardrails\[5\]\.noSuch: is neither a setting nor a check$/,
    /^targets\[1\]\.outputGuardrails: must be a list$/,
    /^targets\[1\]\.before_request_hooks\[0\]\.checks: must be a list of at least one check$/,
    /^targets\[1\]\.before_request_hooks\[1\]\.extra: is not known here/,
    /^targets\[1\]\.before_request_hooks\[1\]\.checks\[0\]\.id: is required$/,
    /^targets\[1\]\.before_request_hooks\[2\]\.type: must be one of guardrail, mutator$/,
    /^targets\[1\]\.before_request_hooks\[2\]\.checks\[0\]\.parameters: must be an object$/,
    /^targets\[1\]\.after_request_hooks\[0\]\.checks\[0\]\.color: is not known here/,
    /^targets\[1\]\.input_mutators\[0\]\.on_fail\.feedback\.value: must be a number from -10 to 10$/,
    /^targets\[1\]\.input_mutators\[0\]\.on_fail\.feedback\.metadata: must be an object$/,
    /^targets\[1\]\.inputMutators: says the same as input_mutators$/,
  ];
  for (const pattern of expected)
    t.true(
      faults.some((fault) => pattern.test(fault)),
      `${pattern} in ${JSON.stringify(faults, null, 1)}`,
    );
  t.is(faults.length, expected.length, JSON.stringify(faults, null, 1));
});

test('too many hooks or checks are refused', (t) => {
  const many = Array.from({ length: 21 }, () => ({ contains: CHECK }));
  t.regex(parse({ input_guardrails: many }).faults[0] ?? '', /has at most 20 items/);
  const checks = Array.from({ length: 21 }, () => ({ id: 'contains', parameters: CHECK }));
  t.regex(parse({ before_request_hooks: [{ checks }] }).faults[0] ?? '', /has at most 20 checks/);
});

test('named guardrails are listed, looked up and put in', (t) => {
  const { read } = parse({
    input_guardrails: ['pg-one', { contains: CHECK }],
    output_guardrails: ['pg-two'],
  });
  t.deepEqual(read?.saved, [
    { id: 'pg-one', event: 'input', path: 'input_guardrails[0]' },
    { id: 'pg-two', event: 'output', path: 'output_guardrails[0]' },
  ]);
  const faults: PathFault[] = [];
  const stored = {
    name: 'One',
    version_id: 'v7',
    checks: [{ id: 'default.contains', name: 'words', parameters: CHECK }],
    actions: {
      deny: true,
      async: false,
      on_success: { feedback: { value: 5, weight: 1, metadata: '' } },
      on_fail: {},
    },
  };
  const found = withSaved(read!, ({ id, event, path }) =>
    id === 'pg-one' ? parseSavedGuardrail(stored, id, event, path, faults) : undefined,
  );
  t.deepEqual(faults, []);
  t.deepEqual(
    found.input.map(({ id }) => id),
    ['input_guardrail_2', 'pg-one'],
  );
  t.like(found.input[1], {
    deny: true,
    versionId: 'v7',
    onSuccess: { value: 5, weight: 1, metadata: {} },
    onFail: undefined,
  });
  t.deepEqual(
    found.saved.map(({ id }) => id),
    ['pg-two'],
  );
  t.is(
    parseSavedGuardrail(
      { ...stored, actions: { onFail: 'block', message: 'no' } },
      'pg',
      'input',
      'p',
      faults,
    )?.deny,
    true,
  );
  t.is(
    parseSavedGuardrail({ ...stored, actions: { onFail: 'log' } }, 'pg', 'input', 'p', faults)?.deny,
    false,
  );
  t.deepEqual(faults, []);
  t.is(parseSavedGuardrail({ checks: [], actions: {} }, 'pg', 'input', 'p', faults), undefined);
  t.is(faults[0]?.path, 'p.checks');
});

test('hooks of a config and of a target are joined, the outer ones first', (t) => {
  const outer = parse({ input_guardrails: [{ id: 'outer', contains: CHECK }] }).read;
  const inner = parse({ input_guardrails: [{ id: 'inner', contains: CHECK }] }).read;
  t.deepEqual(
    joinGuardrails(outer, inner)?.input.map(({ id }) => id),
    ['outer', 'inner'],
  );
  t.is(joinGuardrails(undefined, inner), inner);
  t.is(joinGuardrails(outer, undefined), outer);
});

test('whatever JSON stands there is read or has faults, and nothing is thrown', (t) => {
  const names = fc.constantFrom(
    'contains',
    'default.regexMatch',
    'jwt',
    'deny',
    'checks',
    'id',
    'on_fail',
    'words',
    '__proto__',
    'rule',
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { depthSize: 'small' },
      fc.jsonValue({ maxDepth: 1 }),
      fc.array(tie('value')),
      fc.dictionary(names, tie('value')),
    ),
  }));
  fc.assert(
    fc.property(fc.constantFrom(...GUARDRAIL_KEYS), fc.array(value, { maxLength: 3 }), (key, list) => {
      const { read, faults } = parse({ [key]: list });
      t.is(read === undefined, faults.length > 0);
      for (const fault of faults) t.true(fault.startsWith(key));
    }),
    { numRuns: 100 },
  );
});

test('every check is found by its id and its aliases in any case, and names no one twice', (t) => {
  const ids = CHECKS.flatMap(({ id, aliases }) => [id, ...aliases]).map((id) => id.toLowerCase());
  t.is(new Set(ids).size, ids.length);
  for (const check of CHECKS) {
    t.is(findCheck(check.id.toUpperCase()), check);
    t.is(findCheck(check.id.replace('default.', '')), check);
    t.true(check.events.length > 0);
  }
  t.is(findCheck('toString'), undefined);
  t.is(parseGuardrailList('x', 'input', 'p', []), undefined);
});
