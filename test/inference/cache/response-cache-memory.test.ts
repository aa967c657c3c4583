// The response cache in this process's memory: the contract, its bounds, and what a hit takes.
import test from 'ava';
import { createLocalAnswers, ENTRY_BYTES } from '../../../src/inference/cache/local-answers.ts';
import { createLocalVectors } from '../../../src/inference/cache/local-vectors.ts';
import { createResponseCache } from '../../../src/inference/cache/response-cache.ts';
import { responseCacheContract } from './response-cache.contract.ts';
import { ask, SIMPLE, subject, TEXT } from './subject.ts';

const shared = createLocalAnswers({ maxBytes: 1e7 });
let organisations = 0;

responseCacheContract(test, { open: () => shared, freshOrg: () => `o${organisations++}`, shared: false });

test('bytes are counted exactly, what was used longest ago goes first, time is kept', (t) => {
  let now = 1000;
  const size = 100 + '1:o:a'.length + ENTRY_BYTES;
  const answers = createLocalAnswers({ maxBytes: 3 * size, now: () => now });
  const value = Buffer.alloc(100, 1);
  for (const key of ['a', 'b', 'c']) answers.write('o', key, value, 500);
  t.is(answers.bytes, 3 * size);
  answers.write('o', 'a', value, 500);
  t.is(answers.bytes, 3 * size, 'replaced, not added');
  t.truthy(answers.read('o', 'b', 1e9));
  answers.write('o', 'd', value, 500);
  t.is(answers.bytes, 3 * size);
  t.is(answers.read('o', 'c', 1e9), undefined);
  t.truthy(answers.read('o', 'b', 1e9));
  t.is(answers.read('p', 'b', 1e9), undefined);
  now += 499;
  t.deepEqual(answers.read('o', 'a', 499), { value, ageMs: 499 });
  t.is(answers.read('o', 'a', 498), undefined, 'too old for this call');
  t.is(answers.size, 3);
  now += 1;
  t.is(answers.read('o', 'a', 1e9), undefined);
  t.is(answers.size, 2);
  answers.write('o', 'b', Buffer.alloc(3 * size), 500);
  t.is(answers.read('o', 'b', 1e9), undefined, 'too large: not kept, and the old one is gone');
  answers.remove('o', 'd');
  t.is(answers.bytes, 0);
  t.is(answers.size, 0);
});

test('a hit takes microseconds', async (t) => {
  const cache = createResponseCache({
    answers: createLocalAnswers({ maxBytes: 1e7 }),
    vectors: createLocalVectors({ maxBytes: 1e6 }),
  });
  const body = JSON.stringify({
    model: 'm',
    messages: [{ role: 'user', content: 'Hello there, how are you?' }],
  });
  const once = async (): Promise<string> => {
    const asked = ask(subject(body, 'o'), SIMPLE);
    await cache.whole(asked.call, TEXT, async () => 'x'.repeat(2000));
    return asked.report().status;
  };
  t.is(await once(), 'MISS');
  const statuses = new Set<string>();
  for (let i = 0; i < 100; i++) statuses.add(await once());
  t.deepEqual([...statuses], ['HIT']);
});
