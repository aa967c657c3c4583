// The quick yes is never wrong: what it lets through, the validator lets through.
import {
  create,
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  ScalarType,
} from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import test from 'ava';
import fc from 'fast-check';
import { field as fieldOption } from '../../gen/buf/validate/validate_pb.ts';
import { Plane, plane } from '../../gen/gateway/options/v2/options_pb.ts';
import { quickCheck } from '../../src/rpc/quick-check.ts';
import { generatedFiles, methodsOf } from '../architecture/contract.ts';

const RUNS = 1200;
const validator = createValidator();
const texts = fc.oneof(
  fc.constantFrom(
    '',
    'x',
    'GET',
    'PATCH',
    '/files?a=1',
    '200,404',
    'a\nb',
    '👋',
    'x'.repeat(41),
    'x'.repeat(300),
    'Ā',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }),
);
const numbers = fc.oneof(
  fc.constantFrom(
    -1e30,
    -(2 ** 63),
    -101,
    -100,
    -2.0001,
    -2,
    -1,
    0,
    0.5,
    1,
    1.5,
    2,
    2.1,
    4,
    5,
    6,
    20,
    21,
    100,
    101,
    128,
    129,
    1000,
    1001,
    2 ** 53,
    2 ** 63,
    1e30,
    Number.NaN,
    Number.POSITIVE_INFINITY,
  ),
  fc.double(),
);

/** Any message of the type: each field set or not, with values on and around the contract's limits. */
function anyMessage(desc: DescMessage, depth: number): fc.Arbitrary<Message> {
  const fields = desc.fields.filter((field) => field.oneof === undefined);
  // Mostly unset, or hardly any message of many fields would keep all rules.
  const plain = fields.map((field) =>
    fc.oneof(
      { weight: isNeeded(field) ? 1 : 40, arbitrary: fc.constant(undefined) },
      { weight: isNeeded(field) ? 12 : 1, arbitrary: anyField(field, depth) },
    ),
  );
  const groups = desc.oneofs.map((group) =>
    fc.option(
      fc
        .constantFrom(...group.fields)
        .chain((field) => anyField(field, depth).map((value) => ({ case: field.localName, value }))),
      { nil: undefined, freq: 4 },
    ),
  );
  return fc.tuple(fc.tuple(...plain), fc.tuple(...groups)).map(([values, chosen]) => {
    const message = create(desc) as Message & Record<string, unknown>;
    fields.forEach((field, i) => {
      if (values[i] !== undefined) message[field.localName] = values[i];
    });
    desc.oneofs.forEach((group, i) => {
      if (chosen[i] !== undefined) message[group.localName] = chosen[i];
    });
    return message;
  });
}

/** Fields that a message hardly keeps its rules without. */
function isNeeded(field: DescField): boolean {
  const rules = hasOption(field, fieldOption) ? getOption(field, fieldOption) : undefined;
  const isFilled = rules?.type.case === 'repeated' && (rules.type.value.minItems ?? 0n) > 0n;
  return (
    field.name === 'messages' ||
    rules?.required === true ||
    isFilled ||
    (field.fieldKind === 'scalar' && field.scalar === ScalarType.STRING && field.presence === 2)
  );
}

function anyField(field: DescField, depth: number): fc.Arbitrary<unknown> {
  const one = anyValue(field, depth);
  if (field.fieldKind === 'list') return fc.array(one, { maxLength: 3 });
  if (field.fieldKind === 'map') return fc.dictionary(fc.string({ maxLength: 3 }), one, { maxKeys: 2 });
  return one;
}

function anyValue(field: DescField, depth: number): fc.Arbitrary<unknown> {
  if (field.message) {
    if (field.message.typeName === 'google.protobuf.Struct') return fc.constant({});
    return depth === 0 ? fc.constant(create(field.message)) : anyMessage(field.message, depth - 1);
  }
  if (field.enum) return fc.constantFrom(0, 1, 2, 7);
  switch (field.scalar) {
    case ScalarType.STRING: {
      const rules = hasOption(field, fieldOption) ? getOption(field, fieldOption).type : undefined;
      const words = rules?.case === 'string' ? rules.value.in : [];
      return fc.oneof(texts, fc.constantFrom(...words, 'a', 'a@b.c', 'default'));
    }
    case ScalarType.BOOL:
      return fc.boolean();
    case ScalarType.DOUBLE:
      return numbers;
    case ScalarType.INT32:
      return fc.oneof(
        fc.constantFrom(-1, 0, 1, 2, 5, 6, 20, 21, 100, 101, 128, 129, 1000, 1001),
        fc.integer(),
      );
    case ScalarType.INT64:
      return fc.oneof(fc.constantFrom(-1n, 0n, 1n), fc.bigInt({ min: -(2n ** 63n), max: 2n ** 63n - 1n }));
    default:
      return fc.constant(new Uint8Array());
  }
}

const methods = methodsOf(await generatedFiles());
const inputs = [...new Set(methods.map((method) => method.input))];
/** Where the quick yes matters: model calls. */
const hot = new Set(
  methods.filter(({ parent }) => getOption(parent, plane) === Plane.DATA).map((method) => method.input),
);

for (const desc of inputs) {
  test(`${desc.name}: a quick yes is right`, (t) => {
    const quick = quickCheck(desc);
    let yes = 0;
    fc.assert(
      fc.property(anyMessage(desc, 3), (message) => {
        if (!quick(message)) return;
        yes++;
        t.is(validator.validate(desc, message).kind, 'valid');
      }),
      { numRuns: RUNS },
    );
    t.log(`${yes} of ${RUNS} let through`);
    t.true(yes > 0 || !hot.has(desc), 'no message was let through: the test shows nothing');
  });
}

test('an ordinary chat request is a quick yes, a broken one is not', (t) => {
  const chat = inputs.find((desc) => desc.name === 'CreateChatCompletionRequest');
  t.truthy(chat);
  const message = (temperature: number): Message =>
    create(chat!, {
      model: 'm',
      messages: [{ role: 'user', content: { kind: { case: 'text', value: 'hi' } } }],
      temperature,
      maxTokens: 10n,
    } as never);
  t.true(quickCheck(chat!)(message(1)));
  t.false(quickCheck(chat!)(message(3)));
});
