// Properties of the JSON codec, for every message that an operation takes or gives.
import {
  create,
  type DescField,
  type DescMessage,
  equals,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf';
import { FeatureSet_FieldPresence } from '@bufbuild/protobuf/wkt';
import test from 'ava';
import fc from 'fast-check';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import {
  ChatCompletionSchema,
  ChatService,
  CreateChatCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import {
  CompletionsService,
  CreateCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationSchema, ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { codec } from '../../src/rest/codec.ts';
import { type FieldShape, shapeOf, type ValueShape } from '../../src/rest/json-shape.ts';

const SERVICES = [
  ChatService,
  CompletionsService,
  EmbeddingsService,
  ModerationsService,
  ModelsService,
  LogsService,
];
const REQUESTS = [...new Set(SERVICES.flatMap(({ methods }) => methods.map(({ input }) => input)))];
const ANSWERS = [...new Set(SERVICES.flatMap(({ methods }) => methods.map(({ output }) => output)))];
const DEPTH = 3;
const IMPLICIT = FeatureSet_FieldPresence.IMPLICIT;
const RUNS = { numRuns: 60 };

type Json = null | boolean | number | string | Json[] | { [name: string]: Json };

/** JSON values that survive JSON.stringify as they are. */
const plainJson = fc
  .jsonValue({ maxDepth: 3, noUnicodeString: false })
  .map((value) => JSON.parse(JSON.stringify(value)) as Json);

/** Messages of a type, made from its descriptor alone: no shape of the codec's is used. */
function messages(desc: DescMessage, depth: number): fc.Arbitrary<Message> {
  const oneofs = desc.oneofs.filter(({ fields }) => fields.length > 1);
  const singles = desc.fields.filter((field) => field.oneof === undefined);
  const parts: Record<string, fc.Arbitrary<unknown>> = {};
  for (const field of singles) {
    const value = fieldValues(field, depth);
    if (value !== undefined) parts[field.localName] = value;
  }
  for (const oneof of oneofs) {
    const cases = oneof.fields.flatMap((field) => {
      const value = fieldValues(field, depth);
      return value
        ? [value.filter((v) => v !== undefined).map((v) => ({ case: field.localName, value: v }))]
        : [];
    });
    if (cases.length > 0) parts[oneof.localName] = fc.oneof(...cases);
  }
  return fc.record(parts).map((init) => create(desc, init as Record<string, unknown>));
}

function fieldValues(field: DescField, depth: number): fc.Arbitrary<unknown> | undefined {
  if (field.fieldKind === 'map') {
    const value = field.mapKind === 'scalar' ? scalars(field.scalar) : undefined;
    return (
      value &&
      fc.dictionary(fc.string({ minLength: 1, maxLength: 5 }), value, { maxKeys: 3, noNullPrototype: true })
    );
  }
  const isStruct = field.message?.typeName === 'google.protobuf.Struct';
  if (isStruct && field.name === 'extra') return undefined;
  if (field.message && !isStruct && depth === 0) return undefined;
  const one = isStruct
    ? fc.dictionary(fc.string({ maxLength: 5 }), plainJson, { maxKeys: 3, noNullPrototype: true })
    : field.message
      ? messages(field.message, depth - 1)
      : field.enum
        ? fc.constantFrom(...field.enum.values.map(({ number }) => number))
        : scalars(field.scalar!);
  if (field.fieldKind === 'list') return fc.array(one, { maxLength: 3 });
  // Members of a oneof always have a value; others may be unset where the field has presence.
  return field.message || field.proto.proto3Optional ? fc.option(one, { nil: undefined }) : one;
}

function scalars(type: ScalarType): fc.Arbitrary<unknown> {
  switch (type) {
    case ScalarType.STRING:
      return fc.string({ unit: 'grapheme', maxLength: 8 });
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.DOUBLE:
    case ScalarType.FLOAT:
      return fc.double({ noNaN: true, noDefaultInfinity: true }).map((n) => (Object.is(n, -0) ? 0 : n));
    case ScalarType.INT64:
    case ScalarType.UINT64:
      return fc
        .integer({ min: type === ScalarType.UINT64 ? 0 : -1e9, max: Number.MAX_SAFE_INTEGER })
        .map(BigInt);
    case ScalarType.BYTES:
      return fc.uint8Array({ maxLength: 8 });
    case ScalarType.UINT32:
      return fc.integer({ min: 0, max: 4294967295 });
    default:
      return fc.integer();
  }
}

for (const desc of [...new Set([...REQUESTS, ...ANSWERS])]) {
  test(`${desc.typeName}: a message becomes JSON text and the same message again, read as an answer`, (t) => {
    t.notThrows(() =>
      fc.assert(
        fc.property(messages(desc, DEPTH), (message) => {
          const text = JSON.stringify(codec.encode(desc, message));
          const again = codec.decode(desc, JSON.parse(text));
          // Written twice: what JSON cannot tell apart (an empty list and none) may differ as a message only.
          return JSON.stringify(codec.encode(desc, again)) === text;
        }),
        RUNS,
      ),
    );
  });
}

for (const desc of REQUESTS) {
  test(`${desc.typeName}: a JSON request keeps every member, unknown ones at every level too`, (t) => {
    fc.assert(
      fc.property(objects(desc, DEPTH), (json) => {
        const message = codec.decodeRequest(desc, json);
        const back = JSON.parse(JSON.stringify(codec.encode(desc, message))) as Json;
        t.deepEqual(back, JSON.parse(JSON.stringify(json)) as Json);
      }),
      RUNS,
    );
  });
}

/** JSON objects that fit a request's shape, with strange members wherever the shape keeps them. */
function objects(desc: DescMessage, depth: number): fc.Arbitrary<Json> {
  const shape = shapeOf(desc);
  if (shape.kind === 'union') {
    return fc.oneof(
      ...shape.variants.flatMap(({ value, list }) => {
        if (list === undefined) return depth === 0 && value.kind === 'message' ? [] : [values(value, depth)];
        return [fc.array(elements(list, depth), { minLength: 1, maxLength: 3 })];
      }),
    );
  }
  if (shape.kind === 'map')
    return fc.dictionary(fc.stringMatching(/^[0-9]{1,5}$/), values(shape.field.value, depth), {
      minKeys: 1,
      maxKeys: 3,
      noNullPrototype: true,
    }) as fc.Arbitrary<Json>;
  const named: Record<string, fc.Arbitrary<Json>> = {};
  for (const field of shape.fields) {
    if (field.value.kind === 'message' && depth === 0) continue;
    const one = values(field.value, depth);
    named[field.name] =
      field.many === 'list'
        ? fc.array(one, { maxLength: 3 })
        : field.many === 'map'
          ? fc.dictionary(fc.stringMatching(/^[0-9]{1,5}$/), one, { maxKeys: 3, noNullPrototype: true })
          : one;
  }
  // A member without presence is always there: what becomes of its absence is a test of its own.
  const requiredKeys = desc.fields
    .filter(({ fieldKind, presence }) => fieldKind === 'scalar' && presence === IMPLICIT)
    .map(({ name }) => name)
    .filter((name) => name in named);
  const nullable = (name: string, one: fc.Arbitrary<Json>): fc.Arbitrary<Json> =>
    shape.extra === undefined || requiredKeys.includes(name)
      ? one
      : fc.oneof({ weight: 4, arbitrary: one }, { weight: 1, arbitrary: fc.constant(null) });
  const nulls = Object.fromEntries(Object.entries(named).map(([name, one]) => [name, nullable(name, one)]));
  const known = fc.record(nulls, { requiredKeys, noNullPrototype: true });
  if (shape.extra === undefined) return known as fc.Arbitrary<Json>;
  const strange = fc.dictionary(
    fc.oneof(
      fc.string({ maxLength: 6 }).map((name) => `x${name}`),
      fc.constantFrom(
        'constructor',
        'toString',
        'hasOwnProperty',
        'maxTokens',
        '$typeName',
        'extra',
        '0',
        '',
      ),
    ),
    plainJson,
    { maxKeys: 3, noNullPrototype: true },
  );
  return fc.tuple(known, strange).map(([a, b]) => ({ ...b, ...a }) as Json);
}

function elements(list: FieldShape, depth: number): fc.Arbitrary<Json> {
  if (list.value.kind !== 'message') return values(list.value, depth);
  const inner = shapeOf(list.value.desc);
  const nested = inner.kind === 'object' && inner.fields.length === 1 && inner.fields[0]!.name === 'values';
  if (nested) return fc.array(values(inner.fields[0]!.value, depth), { minLength: 1, maxLength: 3 });
  return objects(list.value.desc, Math.max(0, depth - 1));
}

function values(shape: ValueShape, depth: number): fc.Arbitrary<Json> {
  switch (shape.kind) {
    case 'message':
      return objects(shape.desc, Math.max(0, depth - 1));
    case 'struct':
      return fc.dictionary(fc.string({ maxLength: 5 }), plainJson, { maxKeys: 3, noNullPrototype: true });
    case 'enum':
      return fc.constantFrom(...[...shape.words].filter(([, number]) => number !== 0).map(([word]) => word));
    case 'scalar':
      return scalars(shape.type).map((value) =>
        typeof value === 'bigint'
          ? Number(value)
          : value instanceof Uint8Array
            ? Buffer.from(value).toString('base64')
            : (value as Json),
      );
  }
}

/** Any JSON value, and JSON objects with the message's own names and wrong values. */
function anything(desc: DescMessage): fc.Arbitrary<unknown> {
  const shape = shapeOf(desc);
  const names = shape.kind === 'object' ? shape.fields.map(({ name }) => name) : ['x'];
  const inner = fc.oneof(
    fc.jsonValue({ maxDepth: 4 }),
    fc.anything({ withBigInt: false, withDate: false, maxDepth: 3 }),
  );
  return fc.oneof(
    fc.jsonValue({ maxDepth: 5 }),
    fc.dictionary(fc.constantFrom(...names, '__proto__', 'constructor'), inner, { maxKeys: 6 }),
    fc.json().map((text) => JSON.parse(text) as unknown),
  );
}

for (const desc of [...new Set([...REQUESTS, ...ANSWERS])]) {
  test(`${desc.typeName}: nothing but a GatewayError is ever thrown`, (t) => {
    const seen = { strict: new Set<string>(), lenient: new Set<string>() };
    fc.assert(
      fc.property(anything(desc), (value) => {
        const json: unknown = value === undefined ? null : JSON.parse(JSON.stringify(value) ?? 'null');
        for (const mode of ['strict', 'lenient'] as const) {
          try {
            const message = mode === 'strict' ? codec.decodeRequest(desc, json) : codec.decode(desc, json);
            // What was read can be written.
            JSON.stringify(codec.encode(desc, message));
          } catch (error) {
            if (!(error instanceof GatewayError)) throw error;
            seen[mode].add(error.reason);
          }
        }
      }),
      { numRuns: 150 },
    );
    t.true([...seen.strict].every((reason) => reason === 'validation_failed'));
    t.true([...seen.lenient].every((reason) => reason === 'upstream_garbage'));
  });
}

test('an answer’s members of the wrong type are kept as they are', (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(
        fc.constantFrom(
          'id',
          'object',
          'created',
          'model',
          'choices',
          'usage',
          'system_fingerprint',
          'vendor',
        ),
        plainJson,
        { maxKeys: 8, noNullPrototype: true },
      ),
      (json) => {
        const message = codec.decode(ChatCompletionSchema, json);
        const back = JSON.parse(JSON.stringify(codec.encode(ChatCompletionSchema, message))) as Record<
          string,
          Json
        >;
        for (const [name, value] of Object.entries(json)) {
          // What fits is written with its type's own defaults; what does not is given back unchanged.
          if (typeof value === 'string' && name !== 'choices') t.deepEqual(back[name], value);
          if (name === 'vendor') t.deepEqual(back[name], value);
          if (name === 'id' && typeof value !== 'string') t.deepEqual(back[name] ?? null, value);
        }
      },
    ),
    { numRuns: 300 },
  );
});

test('the deepest JSON is refused and not followed', (t) => {
  for (const depth of [65, 500, 5000]) {
    let json: unknown = 1;
    for (let i = 0; i < depth; i++) json = i % 2 === 0 ? [json] : { a: json };
    const request = { model: 'm', messages: [], vendor: json };
    t.throws(() => codec.decodeRequest(CreateChatCompletionRequestSchema, request), {
      instanceOf: GatewayError,
      message: /nested deeper than 64/,
    });
    t.throws(() => codec.decode(ChatCompletionSchema, { vendor: json }), { instanceOf: GatewayError });
    // What the contract names counts by itself: here the second half is free.
    if (depth < 130) continue;
    t.throws(() => codec.decodeRequest(CreateChatCompletionRequestSchema, { messages: json }), {
      instanceOf: GatewayError,
    });
  }
});

test('every violation is told with its path', (t) => {
  const error = t.throws(
    () =>
      codec.decodeRequest(CreateChatCompletionRequestSchema, {
        model: 1,
        messages: [{ role: 'user', content: [{ type: 'text', text: 5 }] }, 'x'],
        logit_bias: { '1': 'a' },
        stop: [1],
      }),
    { instanceOf: GatewayError },
  );
  t.deepEqual(
    error?.details.violations?.map(({ field, rule }) => [field, rule]),
    [
      ['model', 'type'],
      ['messages[0].content[0].text', 'type'],
      ['messages[1]', 'type'],
      ['logit_bias.1', 'type'],
      ['stop', 'type'],
    ],
  );
});

test('names of members: snake_case, slashes and enum words', (t) => {
  const moderation = codec.encode(
    ModerationSchema,
    create(ModerationSchema, { results: [{ categories: { selfHarmIntent: true } }] }),
  ) as { results: { categories: Record<string, boolean> }[] };
  t.true(moderation.results[0]!.categories['self-harm/intent']);
  t.false(moderation.results[0]!.categories['hate/threatening']);
  const { listLogs } = LogsService.method;
  t.is((codec.decodeRequest(listLogs.input, { order: 'asc' }) as unknown as { order: number }).order, 1);
  for (const order of ['ASC', 'unspecified', 'up', 1, ''])
    t.throws(() => codec.decodeRequest(listLogs.input, { order }), { message: /asc, desc/ });
});

test('a member that is absent from a request is not sent as empty text', (t) => {
  const json = {
    model: 'm',
    messages: [{ role: 'assistant', tool_calls: [{ id: 'c', function: { name: 'f' } }, { type: null }] }],
    tool_choice: { function: {} },
  };
  t.deepEqual(
    codec.encode(
      CreateChatCompletionRequestSchema,
      codec.decodeRequest(CreateChatCompletionRequestSchema, json),
    ),
    json,
  );
});

test('a null is not zero: absent, null and zero stay apart', (t) => {
  const read = (json: object) => codec.decodeRequest(CreateCompletionRequestSchema, json);
  const write = (json: object) => codec.encode(CreateCompletionRequestSchema, read(json));
  t.deepEqual(write({ model: 'm', n: null, temperature: 0, echo: false, user: '' }), {
    model: 'm',
    n: null,
    temperature: 0,
    echo: false,
    user: '',
  });
  t.is((read({ model: 'm' }) as { temperature?: number }).temperature, undefined);
  t.true(
    equals(
      CreateCompletionRequestSchema,
      read({ model: 'm' }),
      create(CreateCompletionRequestSchema, { model: 'm' }),
    ),
  );
});
