// Webhooks of one hook and of several are asked at once; what they wrote is applied in the listed order.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import type { HookResult } from '../../src/checks/runner/hook-result.ts';
import { CONFLICT, merged } from '../../src/checks/runner/merge.ts';
import type { JsonObject, Traffic } from '../../src/checks/view/traffic.ts';
import { answering, answerJson, bench, call, listen, runHooks } from './try-out.ts';

const conversation = () =>
  call({
    request: {
      messages: [
        { role: 'system', content: 'one' },
        { role: 'user', content: 'two 555-1234' },
      ],
    },
  });

interface Told {
  readonly request: { readonly json: { readonly messages: readonly { readonly content: string }[] } };
}

/** A server whose paths `/INDEX/MARK` put a mark behind a message; it answers when so many have asked, or after a while. */
async function writers(t: ExecutionContext, together: number, patience = 200) {
  let [running, most] = [0, 0];
  const server = await listen(t, async ({ path, body }, response) => {
    most = Math.max(most, ++running);
    for (let waited = 0; most < together && waited < patience; waited++) await sleep(10);
    running--;
    const [, index, mark] = path.split('/');
    const { json } = (JSON.parse(body) as Told).request;
    const messages = json.messages.map((message, i) =>
      i === Number(index) ? { ...message, content: `${message.content} ${mark}` } : message,
    );
    answerJson(response, { verdict: true, transformedData: { request: { json: { ...json, messages } } } });
  });
  return { ...server, most: () => most };
}

const contents = (request: JsonObject): string[] =>
  (request.messages as { content: string }[]).map(({ content }) => content);

for (const [form, hooksOf] of [
  [
    'checks of one hook',
    (all: readonly object[]) => [Object.fromEntries(all.map((one, i) => [`c${i}`, one]))],
  ],
  ['hooks', (all: readonly object[]) => all.map((one) => ({ webhook: one }))],
] as const) {
  test(`three webhooks as ${form} are asked at once, also over an answer`, async (t) => {
    const checks = bench(t);
    const { url, most } = await writers(t, 3);
    const three = ['/0/a', '/1/b', '/9/c'].map((path) => ({ id: 'webhook', webhookURL: url + path }));
    const run = await runHooks(checks, conversation(), ...hooksOf(three));
    t.is(most(), 3);
    t.deepEqual(contents(run.request), ['one a', 'two 555-1234 b']);
    const output = await writers(t, 3);
    const over = (traffic: Traffic) =>
      runHooks(
        checks,
        traffic,
        ...hooksOf(
          ['/9/a', '/9/b', '/9/c'].map((path) => ({ id: 'webhook', webhookURL: output.url + path })),
        ),
      );
    t.is((await over(answering('x'))).decision, 'pass');
    t.is(output.most(), 3);
  });

  test(`two webhooks as ${form} that rewrite one text: the later is asked again, and both stand`, async (t) => {
    const checks = bench(t);
    const { url, asked } = await writers(t, 1);
    const two = ['/1/a', '/1/b'].map((path) => ({ id: 'webhook', webhookURL: url + path }));
    const run = await runHooks(checks, conversation(), ...hooksOf(two));
    t.deepEqual(contents(run.request), ['one', 'two 555-1234 a b']);
    const results = (run.results as HookResult[]).flatMap((hook) => hook.checks);
    t.deepEqual(
      results.map(({ asked_again }) => asked_again),
      [undefined, true],
    );
    t.is(asked.length, 3);
  });
}

test('sequential checks are asked in turn, each told what the one before left', async (t) => {
  const checks = bench(t);
  const { url, most, asked } = await writers(t, 2, 3);
  const two = ['/1/a', '/1/b'].map((path) => ({ id: 'webhook', webhookURL: url + path }));
  const run = await runHooks(checks, conversation(), { one: two[0], two: two[1], sequential: true });
  t.is(most(), 1);
  t.is(asked.length, 2);
  t.deepEqual(contents(run.request), ['one', 'two 555-1234 a b']);
});

test('a webhook is told what was taken out before it, and what it writes is searched after it', async (t) => {
  const checks = bench(t);
  const { url, asked } = await writers(t, 1);
  const redact = { regexReplace: { rule: '\\d{3}-\\d{4}', redactText: '<phone>' } };
  const leaks = { webhook: { webhookURL: `${url}/1/555-9999` } };
  const run = await runHooks(checks, conversation(), redact, leaks, redact);
  t.notRegex(asked[0]?.body ?? '', /555-1234/);
  t.deepEqual(contents(run.request), ['one', 'two <phone> <phone>']);
});

test('rewrites are put together by their places', (t) => {
  const base = { a: 'x', list: [{ b: 1 }, { b: 2 }], gone: 1 };
  const current = { a: 'x', list: [{ b: 9 }, { b: 2 }], gone: 1 };
  t.deepEqual(merged(base, { a: 'y', list: [{ b: 1 }, { b: 3 }] }, current), {
    a: 'y',
    list: [{ b: 9 }, { b: 3 }],
  });
  t.deepEqual(merged(base, current, { ...current }), current);
  t.is(merged(base, { ...base, list: [{ b: 8 }, { b: 2 }] }, current), CONFLICT);
  t.is(merged(base, { ...base, list: [] }, current), CONFLICT);
});
