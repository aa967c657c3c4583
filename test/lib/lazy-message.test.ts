// Messages that are read at the first access to a member.
import { clone, create, equals, toBinary } from '@bufbuild/protobuf';
import test from 'ava';
import {
  type CreateChatCompletionRequest,
  CreateChatCompletionRequestSchema as Schema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import { lazyMessage, readNow } from '../../src/lib/lazy-message.ts';
import { attachRawJson, rawJsonOf } from '../../src/lib/raw-json.ts';

function made(known?: Partial<CreateChatCompletionRequest>) {
  const reads = { count: 0 };
  const plain = create(Schema, { model: 'm', temperature: 0.5, user: 'u' });
  const read = (): CreateChatCompletionRequest => {
    reads.count++;
    return plain;
  };
  return { lazy: known ? lazyMessage(Schema, read, known) : lazyMessage(Schema, read), reads, plain };
}

test('a message is read once, at the first access, and is then as one that was never lazy', (t) => {
  const { lazy, reads, plain } = made();
  t.is(reads.count, 0);
  t.is(lazy.model, 'm');
  t.is(lazy.temperature, 0.5);
  t.is(lazy.stream, undefined);
  t.is(reads.count, 1);
  t.true(equals(Schema, lazy, plain));
  t.deepEqual(toBinary(Schema, lazy), toBinary(Schema, plain));
  t.deepEqual(
    Object.keys(lazy)
      .filter((name) => name !== '$typeName')
      .sort(),
    Object.keys(plain)
      .filter((name) => name !== '$typeName')
      .sort(),
  );
  t.is(Object.getPrototypeOf(lazy), Object.getPrototypeOf(plain));
});

test('it is copied and changed like others, before it was read too', (t) => {
  const { lazy, plain } = made();
  t.true(equals(Schema, clone(Schema, lazy), plain));
  const other = made();
  other.lazy.user = 'v';
  t.like(other.lazy, { model: 'm', user: 'v' });
  t.is(other.plain.user, 'u');
  t.is(readNow(made().lazy).user, 'u');
});

test('members that are known are read without the others, which win afterwards', (t) => {
  const { lazy, reads } = made({ stream: undefined, model: 'known' });
  t.is(lazy.stream, undefined);
  t.is(lazy.model, 'known');
  t.is(reads.count, 0);
  t.is(lazy.user, 'u');
  t.is(lazy.model, 'm');
  t.is(reads.count, 1);
});

test('the text that it came with stays with it when it is read', (t) => {
  const { lazy } = made();
  attachRawJson(lazy, '{"model":"m"}');
  t.is(lazy.model, 'm');
  t.is(rawJsonOf(lazy), '{"model":"m"}');
});
