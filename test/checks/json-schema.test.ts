// default.jsonSchema: drafts, formats, where JSON is found, schemas that are refused.
import test from 'ava';
import { answering, bench, faultsOf, runOne } from './try-out.ts';

const PERSON = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1 }, age: { type: 'integer', minimum: 0 } },
  additionalProperties: false,
};

test('some JSON in the text must be valid', async (t) => {
  const checks = bench(t);
  const rows: readonly (readonly [object, string, boolean])[] = [
    [PERSON, '{"name":"Ada","age":36}', true],
    [PERSON, 'Sure!\n```json\n{"name":"Ada"}\n```\nAnything else?', true],
    [PERSON, 'first {"age":1}, then {"name":"Ada"}', true],
    [PERSON, '{"name":""}', false],
    [PERSON, '{"name":"Ada","extra":1}', false],
    [PERSON, 'no JSON here', false],
    [PERSON, '{"name":"Ada"', false],
    [PERSON, '{"name":"größer } than { 漢字"}', true],
    [{ type: 'array', items: { type: 'integer' } }, '[1,2,3]', true],
    [{ type: 'array', items: { type: 'integer' } }, '[1,2,"3"]', false],
    [{ prefixItems: [{ const: 1 }], items: false }, '[1]', true],
    [{ prefixItems: [{ const: 1 }], items: false }, '[1,2]', false],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ const: 1 }] }, '[1]', true],
    [{ $schema: 'http://json-schema.org/draft-07/schema#', items: [{ const: 1 }] }, '[2]', false],
    [{ $schema: 'https://json-schema.org/draft/2019-09/schema', items: [{ const: 1 }] }, '[2]', false],
    [{ $defs: { id: { type: 'integer' } }, properties: { id: { $ref: '#/$defs/id' } } }, '{"id":"x"}', false],
    [
      {
        $defs: { id: { $id: 'https://x.test/id', type: 'integer' } },
        properties: { id: { $ref: 'https://x.test/id' } },
      },
      '{"id":1}',
      true,
    ],
    [{ properties: { mail: { format: 'email' } } }, '{"mail":"a@b.example"}', true],
    [{ properties: { mail: { format: 'email' } } }, '{"mail":"a@b@"}', false],
    [{ properties: { day: { format: 'date' } } }, '{"day":"2024-02-29"}', true],
    [{ properties: { day: { format: 'date' } } }, '{"day":"2023-02-29"}', false],
    [{ properties: { at: { format: 'date-time' } } }, '{"at":"2026-11-21T19:00:00Z"}', true],
    [{ properties: { at: { format: 'date-time' } } }, '{"at":"2026-11-21"}', false],
    [{ properties: { u: { format: 'uri' } } }, '{"u":"https://example.com/a?b"}', true],
    [{ properties: { u: { format: 'uuid' } } }, '{"u":"nope"}', false],
    [{ properties: { u: { format: 'made-up' } } }, '{"u":"anything"}', true],
    [{ required: ['toString'] }, '{}', false],
  ];
  for (const [schema, text, valid] of rows) {
    const what = `${JSON.stringify(schema)} ${text}`;
    const result = await runOne(checks, answering(text), 'jsonSchema', { schema });
    t.is(result.error, undefined, what);
    t.is(result.verdict, valid, what);
    t.is((await runOne(checks, answering(text), 'jsonSchema', { schema, not: true })).verdict, !valid, what);
  }
  const { data } = await runOne(checks, answering('{"name":1}'), 'jsonSchema', {
    schema: JSON.stringify(PERSON),
  });
  t.like(data, { matchedJson: { name: 1 }, not: false, verdict: false });
  t.deepEqual(data?.validationErrors, [{ path: '/name', message: 'must be string' }]);
});

test('a schema never leaves what it registers behind for another', async (t) => {
  const checks = bench(t);
  const first = { $id: 'https://x.test/s', properties: { a: { type: 'string' } } };
  const second = { $id: 'https://x.test/s', properties: { a: { type: 'number' } } };
  t.true((await runOne(checks, answering('{"a":"x"}'), 'jsonSchema', { schema: first })).verdict);
  t.false((await runOne(checks, answering('{"a":"x"}'), 'jsonSchema', { schema: second })).verdict);
  const theirs = { properties: { a: { $ref: 's2' } } };
  const { error } = await runOne(checks, answering('{"a":1}'), 'jsonSchema', { schema: theirs });
  t.is(error?.name, 'InvalidSchemaError');
});

test('schemas that reach outside or are not well are refused with their path', (t) => {
  const deep = JSON.parse(`${'{"items":'.repeat(80)}{}${'}'.repeat(80)}`);
  const rows: readonly (readonly [unknown, RegExp])[] = [
    [
      { $ref: 'https://example.com/s.json' },
      /^hooks\[0\]\.jsonSchema\.schema\.\$ref: refers to "https:.*not fetched/,
    ],
    [{ items: [{ $ref: 'file:///etc/passwd' }] }, /schema\.items\[0\]\.\$ref: .*not fetched/],
    [deep, /nested more than/],
    [{ $schema: 'http://json-schema.org/draft-04/schema#' }, /schema\.\$schema: must name/],
    [[], /schema: must be an object/],
    [{ type: 'thing' }, /schema\.type: must be one of array/],
    [{ properties: { a: { type: ['string', 'thing'] } } }, /schema\.properties\.a\.type: must be one of/],
    [{ properties: { a: { pattern: '(' } } }, /schema\.properties\.a\.pattern: is not a regular expression/],
    [{ patternProperties: { '[': {} } }, /patternProperties: is not a regular expression/],
    [{ properties: { a: 'string' } }, /schema\.properties\.a: must be a schema/],
    [{ properties: [] }, /schema\.properties: must be an object/],
    [{ anyOf: {} }, /schema\.anyOf: must be a list/],
    [{ required: 'a' }, /schema\.required: must be a list of texts/],
    [{ enum: 'a' }, /schema\.enum: must be a list/],
  ];
  for (const [schema, pattern] of rows) {
    const found = faultsOf('output', { jsonSchema: { schema } });
    t.is(found.length, 1, JSON.stringify(found));
    t.regex(found[0] ?? '', pattern);
  }
  t.regex(faultsOf('output', { jsonSchema: {} })[0] ?? '', /is required/);
  // What is data and no schema is not read as one.
  const data = {
    properties: { type: { type: 'string' }, $ref: { type: 'string' } },
    const: { $ref: 'https://x.example', type: 1 },
    enum: [{ pattern: '(' }],
  };
  t.deepEqual(faultsOf('output', { jsonSchema: { schema: data } }), []);
});

test('a schema that cannot be compiled is an error of the check', async (t) => {
  const checks = bench(t);
  const schema = { properties: { a: { minLength: 'x' } } };
  const { error, verdict } = await runOne(checks, answering('{"a":"x"}'), 'jsonSchema', { schema });
  t.true(verdict);
  t.is(error?.name, 'InvalidSchemaError');
});
