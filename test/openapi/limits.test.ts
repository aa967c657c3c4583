// Rules as keywords, those included that no proto uses yet.
import { create, type MessageInitShape } from '@bufbuild/protobuf';
import test from 'ava';
import { FieldRulesSchema, Ignore } from '../../gen/buf/validate/validate_pb.ts';
import { summaryOf } from '../../src/openapi/comments.ts';
import type { Schema } from '../../src/openapi/json.ts';
import { limited, sentencesOf } from '../../src/openapi/limits.ts';

type Rules = MessageInitShape<typeof FieldRulesSchema>;

const number = { type: 'number', format: 'double' };
const text = { type: 'string' };
const list = { type: 'array', items: text };
const map = { type: 'object', additionalProperties: number };
const whole = { id: 'double.integer', message: 'value must be a whole number', expression: 'true' };

const CASES: readonly (readonly [string, Schema, Rules, Schema])[] = [
  [
    'inclusive bounds',
    number,
    {
      type: {
        case: 'double',
        value: { greaterThan: { case: 'gte', value: 0 }, lessThan: { case: 'lte', value: 2 } },
      },
    },
    { ...number, minimum: 0, maximum: 2 },
  ],
  [
    'exclusive bounds of a 64-bit number',
    { type: 'integer' },
    {
      type: {
        case: 'int64',
        value: { greaterThan: { case: 'gt', value: 0n }, lessThan: { case: 'lt', value: 9n } },
      },
    },
    { type: 'integer', exclusiveMinimum: 0, exclusiveMaximum: 9 },
  ],
  [
    'a text',
    text,
    { type: { case: 'string', value: { minLen: 1n, maxLen: 255n, pattern: '^a' } } },
    { ...text, minLength: 1, maxLength: 255, pattern: '^a' },
  ],
  [
    'words',
    text,
    { type: { case: 'string', value: { in: ['rpm', 'rph'] } } },
    { ...text, enum: ['rpm', 'rph'] },
  ],
  [
    'a uuid',
    text,
    { type: { case: 'string', value: { wellKnown: { case: 'uuid', value: true } } } },
    { ...text, format: 'uuid' },
  ],
  [
    'a list and its items',
    list,
    {
      type: {
        case: 'repeated',
        value: {
          minItems: 1n,
          maxItems: 4n,
          unique: true,
          items: { type: { case: 'string', value: { minLen: 1n } } },
        },
      },
    },
    { type: 'array', minItems: 1, maxItems: 4, uniqueItems: true, items: { ...text, minLength: 1 } },
  ],
  [
    'a map, its names and values',
    map,
    {
      type: {
        case: 'map',
        value: {
          maxPairs: 64n,
          keys: { type: { case: 'string', value: { maxLen: 128n } } },
          values: { type: { case: 'double', value: { lessThan: { case: 'lte', value: 1 } } } },
        },
      },
    },
    {
      type: 'object',
      maxProperties: 64,
      propertyNames: { maxLength: 128 },
      additionalProperties: { ...number, maximum: 1 },
    },
  ],
  ['a whole number', number, { cel: [whole] }, { type: 'integer' }],
  [
    'a rule that the empty text escapes',
    text,
    { ignore: Ignore.IF_ZERO_VALUE, type: { case: 'string', value: { minLen: 3n } } },
    { ...text, anyOf: [{ const: '' }, { minLength: 3 }] },
  ],
  ['no rule', text, {}, text],
];

for (const [name, schema, rules, expected] of CASES) {
  test(name, (t) => t.deepEqual(limited(schema, create(FieldRulesSchema, rules)), expected));
}

test('an enum keeps the words that are allowed', (t) => {
  const rules = create(FieldRulesSchema, { type: { case: 'enum', value: { in: [1, 3] } } });
  const words = new Map([
    [1, 'weekly'],
    [2, 'daily'],
    [3, 'monthly'],
  ]);
  t.deepEqual(limited(text, rules, words), { ...text, enum: ['weekly', 'monthly'] });
});

test('rules in words are told, but for the one that is a type', (t) => {
  const rules = create(FieldRulesSchema, {
    cel: [whole, { id: 'x', message: 'at most 4', expression: 'true' }],
  });
  t.deepEqual(sentencesOf(rules), ['at most 4']);
});

test('a summary is the first sentence', (t) => {
  t.is(summaryOf('Lists entries. Newest first.'), 'Lists entries');
  t.is(summaryOf('Reads e.g. this one.\n\nErrors: 400.'), 'Reads e.g. this one');
  t.is(summaryOf('No full stop'), 'No full stop');
  t.is(summaryOf(''), '');
});
