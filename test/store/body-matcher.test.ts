// Bodies that a search compares: in a thread of their own, so that calls are served meanwhile.
import { setImmediate as nextTurn } from 'node:timers/promises';
import { zstdCompressSync } from 'node:zlib';
import test from 'ava';
import { BodyMatcher } from '../../src/store/mongo/log/body-matcher.ts';

const packed = (body: string): Buffer =>
  zstdCompressSync(JSON.stringify({ request: {}, response: { body } }));

test('a text is found in bodies, with the escapes of JSON read', async (t) => {
  const matcher = new BodyMatcher();
  const data = packed(JSON.stringify({ arguments: JSON.stringify({ text: 'a "Ünicorn" ran' }) }));
  const found = await Promise.all(['"ünicorn"', 'ran', 'horse'].map((needle) => matcher.match(data, needle)));
  t.deepEqual(
    found.map(({ holds }) => holds),
    [true, true, false],
  );
  t.true(found.every(({ bytes }) => bytes > 60));
});

test('a record that cannot be read fails by itself, and the next one is compared', async (t) => {
  const matcher = new BodyMatcher();
  const bad = matcher.match(Buffer.from('no zstd'), 'x');
  const good = matcher.match(packed('yes'), 'yes');
  await t.throwsAsync(bad);
  t.true((await good).holds);
});

test('the event loop goes on while an expensive body is compared', async (t) => {
  const matcher = new BodyMatcher();
  await matcher.match(packed(''), 'ready');
  // Half a million escapes: some hundred milliseconds.
  const match = matcher.match(packed(JSON.stringify({ text: '"'.repeat(524_288) })), 'needle');
  let [turns, over] = [0, false];
  void match.finally(() => {
    over = true;
  });
  while (!over) {
    await nextTurn();
    turns++;
  }
  t.false((await match).holds);
  t.true(turns > 20, `${turns} turns`);
});
