// The rules of a message type are compiled in turns, and say the same as those that are compiled at once.
import { create, type DescMessage, type Message } from '@bufbuild/protobuf';
import { usedTypes } from '@bufbuild/protobuf/reflect';
import type { Validator } from '@bufbuild/protovalidate';
import test from 'ava';
import { CreateChatCompletionRequestSchema } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { compileInTurns, innerFirst } from '../../src/rpc/compile-rules.ts';
import { ruleEngine } from '../../src/rpc/rule-engine.ts';
import { contractValidator } from '../../src/rpc/validator.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let inputs: readonly DescMessage[];

test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
  inputs = [
    ...new Set(gateway.app.rpc.methods.services.flatMap(({ methods }) => methods.map(({ input }) => input))),
  ];
});
test.after.always(() => gateway?.close());

test('types within a type come before it, and it comes last', (t) => {
  t.true(inputs.length > 100);
  for (const input of inputs) {
    const order = innerFirst(input);
    t.is(order.at(-1), input);
    t.is(new Set(order).size, order.length, `${input}: each once`);
    order.forEach((type, at) => {
      const within = new Set<object>(usedTypes(type));
      const early = order.slice(at + 1).filter((later) => within.has(later));
      t.deepEqual(early.map(String), [], `${type} contains what comes after it`);
    });
  }
});

test('what is compiled in turns judges as what is compiled at once', async (t) => {
  const [inTurns, atOnce] = [ruleEngine(false), ruleEngine(false)];
  let violations = 0;
  for (const input of inputs) {
    await compileInTurns(inTurns, input);
    for (const message of [create(input), ...wrongOnes(input)]) {
      const told = (validator: Validator): readonly string[] => {
        const result = validator.validate(input, message);
        if (result.kind === 'valid') return [];
        return result.kind === 'error' ? [result.error.message] : result.violations.map(String);
      };
      const found = told(atOnce);
      violations += found.length;
      t.deepEqual(told(inTurns), found, input.typeName);
    }
  }
  t.true(violations > 100);
});

test('each turn compiles some types only, and a type that is known needs none', async (t) => {
  const chat = CreateChatCompletionRequestSchema;
  let turn = 0;
  const turns: number[] = [];
  const count = (): void => {
    turn++;
    counting = setImmediate(count);
  };
  let counting = setImmediate(count);
  t.teardown(() => clearImmediate(counting));
  const engine = ruleEngine(false);
  await compileInTurns(
    {
      validate: (schema, message) => {
        turns.push(turn);
        const until = performance.now() + 6;
        while (performance.now() < until);
        return engine.validate(schema, message);
      },
    },
    chat,
  );
  t.true(turns.length > 10);
  t.is(new Set(turns).size, turns.length);

  const validator = contractValidator();
  const first = validator.ready?.(chat, false);
  t.truthy(first);
  t.is(validator.ready?.(chat, false), first, 'two calls wait for one compilation');
  await first;
  t.is(validator.ready?.(chat, false), undefined);
  t.truthy(validator.ready?.(chat, true), 'the engine for many parts is another one');
  await validator.ready?.(chat, true);
});

test('the first calls of a process, all at once, are judged each', async (t) => {
  const post = (path: string, body: object): Promise<Response> =>
    fetch(`${gateway.origin}/v1${path}`, {
      method: 'POST',
      headers: {
        'x-gateway-api-key': WORKSPACE_KEY,
        'x-gateway-provider': 'openai',
        authorization: 'Bearer sk-x',
        'content-type': 'application/json',
      },
      body: JSON.stringify(body),
    });
  const many = Array(1500).fill({ role: 'user', content: 'x' });
  const answers = await Promise.all([
    post('/chat/completions', { model: '', messages: [{ role: 'user', content: 'x' }] }),
    post('/chat/completions', { model: 'm', messages: [] }),
    post('/chat/completions', { model: '', messages: many }),
    post('/embeddings', { model: '', input: 'x' }),
    post('/responses', { model: 'm', input: 'x', top_p: 7 }),
  ]);
  const told = await Promise.all(answers.map((answer) => answer.text()));
  t.deepEqual(
    answers.map(({ status }) => status),
    [400, 400, 400, 400, 400],
    told.join('\n'),
  );
  t.regex(told[0]!, /model/);
  t.regex(told[1]!, /messages/);
});

/** Messages that break rules of their fields: texts and lists that are too long, numbers that are too small. */
function* wrongOnes(desc: DescMessage): Generator<Message> {
  const text = 'ä'.repeat(70_000);
  const bad: Record<string, unknown> = {};
  for (const field of desc.fields) {
    if (field.oneof !== undefined) continue;
    if (field.fieldKind === 'scalar') {
      const value = scalarOf(field.scalar, text);
      if (value !== undefined) bad[field.localName] = value;
    } else if (field.fieldKind === 'message' && !field.message.typeName.startsWith('google.protobuf.'))
      bad[field.localName] = create(field.message);
    else if (field.fieldKind === 'list' && field.listKind === 'message')
      bad[field.localName] = [create(field.message), create(field.message)];
  }
  yield create(desc, bad);
}

/** Of Protobuf's types 9 is a text; 1, 2, 5 and 3 are numbers, the last one a bigint. */
function scalarOf(type: number, text: string): unknown {
  if (type === 9) return text;
  if (type === 1 || type === 2 || type === 5) return -1;
  return type === 3 ? -1n : undefined;
}
