// Bodies that are cheap to send and dear to read are refused before they are read.
import test from 'ava';
import fc from 'fast-check';
import { isTooHeavy, MOST_WEIGHT } from '../../src/rest/json-weight.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
test.before(async () => {
  gateway = await startGateway({ GATEWAY_DRAIN_SECONDS: '1' });
});
test.after.always(() => gateway?.close());

const heavy = (text: string) => isTooHeavy(Buffer.from(text));
/** Members with names of their own. */
const names = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `"k${from + i}":1`).join();
const list = (piece: string, count: number) => `[${Array(count).fill(piece).join()}]`;

test('members, items and nests weigh; what stands in strings does not', async (t) => {
  for (const [text, expected] of [
    [list('1', MOST_WEIGHT - 10), false],
    [list('1', MOST_WEIGHT + 10), true],
    [list('{}', MOST_WEIGHT / 5 + 10), true],
    [`{${names(17_000)}}`, true],
    [`{${names(15_000)}}`, false],
    [list(`{${names(100)}}`, 500), false],
    [`[${Array.from({ length: 170 }, (_, i) => `{${names(100, i * 100)}}`).join()}]`, true],
    [list(`{"${'long'.repeat(50)}":1}`, 14_000), true],
    [list(`{"${'long'.repeat(10)}":1}`, 14_000), false],
    ['['.repeat(110_000), true],
    [JSON.stringify({ a: list('{}', 500_000) }), false],
    [JSON.stringify({ a: list('{"b":"\\\\"}', 300_000) }), false],
    [`"${'\\"{,:'.repeat(500_000)}"`, false],
    [`["${'\\\\'.repeat(500_000)}",${list('{}', 300_000)}]`, true],
    [`"${'x'.repeat(24_000_000)}"`, false],
    [`"${'\\n'.repeat(1_990_000)}"`, false],
    [`"${'\\"'.repeat(2_010_000)}"`, true],
    [`["${'\\\\'.repeat(1_000_000)}",${list('1', MOST_WEIGHT / 2 + 10)}]`, true],
  ] as const)
    t.is(await heavy(text), expected, text.slice(0, 60));
});

test('strings with any escapes close where JSON says', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom('\\', '"', 'a', '{', ','), { maxLength: 40 }),
      async (signs) => {
        const string = JSON.stringify(signs.join(''));
        // Behind the string stands what weighs just enough, so that a sign of the string would be too much.
        const behind = list('1', MOST_WEIGHT - 20);
        t.false(await heavy(`[${string},${behind}]`));
        t.true(await heavy(`[${string},${behind},[],[],[],[]]`));
      },
    ),
    { numRuns: 20 },
  );
});

test('a body that is too heavy is a 413 that says so, compressed or not, on both planes', async (t) => {
  const { gzipSync } = await import('node:zlib');
  const body = Buffer.from(`{"model":"m","messages":${list('{}', 100_000)}}`);
  for (const path of ['chat/completions', 'configs', 'logs'])
    for (const encoding of ['identity', 'gzip']) {
      const answer = await fetch(`${gateway.origin}/v1/${path}`, {
        method: 'POST',
        headers: {
          'x-gateway-api-key': path === 'configs' ? ADMIN_KEY : WORKSPACE_KEY,
          'x-gateway-provider': 'openai',
          'content-type': 'application/json',
          'content-encoding': encoding,
        },
        body: encoding === 'gzip' ? gzipSync(body) : body,
      });
      t.is(answer.status, 413, path);
      t.regex(await answer.text(), /too many members and items/);
    }
});

test('of a request with very many faults the first hundred are told', async (t) => {
  const answer = await fetch(`${gateway.origin}/v1/chat/completions`, {
    method: 'POST',
    headers: {
      'x-gateway-api-key': WORKSPACE_KEY,
      'x-gateway-provider': 'openai',
      'content-type': 'application/json',
    },
    body: `{"model":"m","messages":${list('"a"', 50_000)}}`,
  });
  t.is(answer.status, 400);
  const { errors } = (await answer.json()) as { errors: { rule: string }[] };
  t.is(errors.length, 101);
  t.is(errors.at(-1)?.rule, 'more');
});
