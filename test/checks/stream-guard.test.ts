// Guardrails over streams: what is promised in stream-guard.ts, for any way in which a text is cut into events.
import { setTimeout as sleep } from 'node:timers/promises';
import test, { type ExecutionContext } from 'ava';
import fc from 'fast-check';
import { looksAround } from '../../src/checks/contract/pattern.ts';
import type { Checks } from '../../src/checks/create.ts';
import type { HookResult } from '../../src/checks/runner/hook-result.ts';
import { guardEvents } from '../../src/checks/stream/guard-events.ts';
import {
  createStreamGuard,
  type Increment,
  mustHoldAnswer,
  type StreamGuard,
  type StreamGuardOptions,
} from '../../src/checks/stream/stream-guard.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { answering, answerJson, bench, call, hooks, listen, never, runHooks } from './try-out.ts';

/** An event is a list of increments and nothing else. */
type Event = readonly Increment[];

const said = (text: string, unit = 0): Event => [{ unit, kind: 'content', text }];
const called = (text: string, call = 0): Event => [{ unit: 0, kind: 'tool_call', call, name: 'send', text }];
const textOf = (events: readonly Event[], unit = 0): string =>
  events
    .flat()
    .filter((one) => one.unit === unit && one.kind === 'content')
    .map(({ text }) => text)
    .join('');

function guardOf(
  checks: Checks,
  items: readonly unknown[],
  options: Partial<StreamGuardOptions<Event>> = {},
): StreamGuard<Event> {
  return createStreamGuard<Event>({
    hooks: hooks('output', ...items),
    traffic: call({ streaming: true }),
    runner: checks.runner,
    deps: checks.deps,
    signal: never,
    increments: (event) => event,
    holdMs: Number.POSITIVE_INFINITY,
    ...options,
  });
}

/** Everything through the guard. */
async function drive(guard: StreamGuard<Event>, events: readonly Event[]): Promise<Event[]> {
  const out: Event[] = [];
  for (const event of events) out.push(...(await guard.push(event)));
  out.push(...(await guard.end()));
  return out;
}

const deny = (check: object) => ({ ...check, deny: true });
const NO_SECRET = deny({ contains: { words: ['secret'], operator: 'none' } });

/** Cuts a text at random places. */
const cuts = (text: string, at: readonly number[]): Event[] => {
  const places = [...new Set(at.map((one) => one % (text.length + 1)))].sort((a, b) => a - b);
  return [0, ...places].map((from, index) => said(text.slice(from, places[index] ?? text.length)));
};

const RULES: readonly (readonly [object, RegExp])[] = [
  [{ contains: { words: ['abc', 'ccb'], operator: 'none' } }, /abc|ccb/g],
  [{ regexMatch: { rule: 'a[bc]{2}b', not: true } }, /a[bc]{2}b/g],
  [{ regexMatch: { rule: '\\bab\\b', not: true } }, /\bab\b/g],
  [{ regexMatch: { rule: 'ab(?!c)', not: true } }, /ab(?!c)/g],
  [{ regexMatch: { rule: '(?<=c)aa', not: true } }, /(?<=c)aa/g],
  [{ regexMatch: { rule: 'ab$', not: true } }, /ab$/g],
  [{ regexMatch: { rule: '^ca', not: true } }, /^ca/g],
];

test('however a text is cut: the same decision, nothing of a passage goes out, all or nothing lost', async (t) => {
  const checks = bench(t);
  let denied = 0;
  await fc.assert(
    fc.asyncProperty(
      fc
        .array(fc.constantFrom('a', 'b', 'c', ' ', 'ab', 'abc', ' ab '), { minLength: 1, maxLength: 40 })
        .map((pieces) => pieces.join('')),
      fc.array(fc.nat(), { maxLength: 25 }),
      fc.constantFrom(...RULES),
      fc.integer({ min: 5, max: 20 }),
      async (text, at, [rule, passage], holdCharacters) => {
        const guard = guardOf(checks, [deny(rule)], { holdCharacters });
        const events = cuts(text, at);
        const out = await drive(guard, events);
        const whole = await runHooks(checks, answering(text), deny(rule));
        t.is(guard.outcome?.decision, whole.decision);
        const released = textOf(out);
        t.deepEqual(out, events.slice(0, out.length), 'in order and unchanged');
        if (whole.decision === 'pass') {
          t.is(released, text);
          return;
        }
        denied++;
        const [first] = text.matchAll(passage);
        t.true(released.length <= (first?.index ?? 0), `${released} of ${text}`);
      },
    ),
    { numRuns: 300 },
  );
  t.log(`${denied} of 300 denied`);
  t.true(denied > 20);
});

test('when time is up instead, at least the last character of a passage stays', async (t) => {
  const checks = bench(t);
  await fc.assert(
    fc.asyncProperty(
      fc
        .array(fc.constantFrom('a', 'b', 'c', 'abc', 'ab', 'abcab'), { maxLength: 20 })
        .map((pieces) => pieces.join('')),
      fc.array(fc.nat(), { maxLength: 20 }),
      fc.array(fc.boolean(), { maxLength: 30 }),
      async (text, at, flushes) => {
        const guard = guardOf(checks, [deny({ contains: { words: ['abcab'], operator: 'none' } })], {
          holdCharacters: 8,
        });
        const out: Event[] = [];
        for (const [index, event] of cuts(text, at).entries()) {
          out.push(...(await guard.push(event)));
          if (flushes[index]) out.push(...(await guard.flush()));
        }
        out.push(...(await guard.end()));
        const end = text.indexOf('abcab') === -1 ? text.length : text.indexOf('abcab') + 4;
        t.true(textOf(out).length <= end);
        t.is(guard.outcome?.decision, text.includes('abcab') ? 'deny' : 'pass');
        if (!text.includes('abcab')) t.is(textOf(out), text);
      },
    ),
    { numRuns: 150 },
  );
});

test('the beginning goes out while the stream goes on: what is held is bounded', async (t) => {
  const checks = bench(t);
  const guard = guardOf(checks, [NO_SECRET], { holdCharacters: 40 });
  let [sent, out] = [0, 0];
  for (let i = 0; i < 300; i++) {
    sent += 7;
    out += textOf(await guard.push(said('word ab'))).length;
    t.true(sent - out <= 40 + 10 + 2 * 7 + (sent >> 6), `${sent - out} are held`);
  }
  t.true(out > 1900);
  t.is(textOf(await guard.end()).length, sent - out);
});

test('a word longer than what is held is held for as long as it is', async (t) => {
  const checks = bench(t);
  const word = 'a long phrase of many words';
  const guard = guardOf(checks, [deny({ contains: { words: [word], operator: 'none' } })], {
    holdCharacters: 4,
  });
  const out = await drive(
    guard,
    [...`Well, here is ${word}.`].map((char) => said(char)),
  );
  t.is(guard.outcome?.decision, 'deny');
  t.true('Well, here is '.startsWith(textOf(out)));
});

test('a denial stops the stream with 446 and its results', async (t) => {
  const checks = bench(t);
  const guard = guardOf(
    checks,
    [
      { id: 'other', wordCount: {} },
      { ...NO_SECRET, id: 'words', on_fail: { feedback: { value: -1 } } },
    ],
    { holdCharacters: 10 },
  );
  let ended = false;
  async function* stream(): AsyncGenerator<Event> {
    try {
      for (let i = 0; i < 1000; i++) yield said(i === 20 ? 'the sec' : i === 21 ? 'ret is' : 'fine ');
    } finally {
      ended = true;
    }
  }
  const out: Event[] = [];
  const error = await t.throwsAsync(async () => {
    for await (const event of guardEvents(stream(), guard)) out.push(event);
  });
  t.true(error instanceof GatewayError);
  t.is((error as GatewayError).status, 446);
  t.true(ended);
  t.true(textOf(out).startsWith('fine fine'));
  t.notRegex(textOf(out), /s/);
  const [result] = (guard.outcome?.results ?? []) as HookResult[];
  t.like(result, { id: 'words', verdict: false, deny: true, feedback: { value: -1 } });
  t.like(result?.checks[0], { id: 'default.contains', data: { foundWords: ['secret'] } });
  t.deepEqual(await guard.push(said('more')), []);
  t.deepEqual(await guard.end(), []);
});

test('what only the whole shows is judged at the end; nothing is held for it', async (t) => {
  const checks = bench(t);
  const rows: readonly (readonly [object, string, string])[] = [
    [{ wordCount: { minWords: 3 } }, 'two words', 'flag'],
    [deny({ wordCount: { minWords: 3 } }), 'two words', 'deny'],
    [deny({ jsonSchema: { schema: { required: ['a'] } } }), '{"a":1}', 'pass'],
    [deny({ regexMatch: { rule: '^Yes' } }), 'No', 'deny'],
    [{ contains: { words: ['secret'], operator: 'none' } }, 'a secret', 'flag'],
  ];
  for (const [hook, text, decision] of rows) {
    const guard = guardOf(checks, [hook]);
    for (const char of text) t.is((await guard.push(said(char))).length, 1);
    await guard.end();
    t.is(guard.outcome?.decision, decision as 'pass', JSON.stringify(hook));
    t.like(guard.outcome?.results[0], { verdict: decision === 'pass' });
  }
});

test('too much is stopped where it becomes too much', async (t) => {
  const checks = bench(t);
  const guard = guardOf(checks, [deny({ wordCount: { maxWords: 30 } })], { holdCharacters: 20 });
  const out: Event[] = [];
  for (let i = 0; i < 100 && guard.outcome === undefined; i++) out.push(...(await guard.push(said('word '))));
  t.is(guard.outcome?.decision, 'deny');
  t.true(textOf(out).split(' ').length <= 31);
  t.true(textOf(out).length > 50);
});

test('choices are judged each by itself, and events keep their order', async (t) => {
  const checks = bench(t);
  const guard = guardOf(checks, [NO_SECRET], { holdCharacters: 8 });
  const events = Array.from({ length: 40 }, (_, i) => said(['sec', 'ret'][i % 2] ?? '', i % 2));
  const out = await drive(guard, events);
  t.deepEqual(out, events);
  t.is(guard.outcome?.decision, 'pass');
  // Whatever numbers a provider gives them.
  const wild = guardOf(checks, [NO_SECRET], { holdCharacters: 8 });
  await drive(wild, [said('fine', 2 ** 40), said('fine', 7)]);
  t.is(wild.outcome?.decision, 'pass');
  const bad = guardOf(checks, [NO_SECRET], { holdCharacters: 8 });
  await drive(bad, [said('fine'), said('sec', 1), said('fine'), said('ret', 1)]);
  t.is(bad.outcome?.decision, 'deny');
});

test('tool calls are held until they are whole, also when escapes hide what they say', async (t) => {
  const checks = bench(t);
  const text = '{"to":"\\u0073ecret"}';
  const pieces = [...text].map((char) => called(char));
  const guard = guardOf(checks, [NO_SECRET], { holdCharacters: 4 });
  const out = await drive(guard, [said('let me see,'), said(' a moment please'), ...pieces, said(' done')]);
  t.is(guard.outcome?.decision, 'deny');
  t.false(out.flat().some(({ kind }) => kind === 'tool_call'));
  t.true(textOf(out).startsWith('let me see'));
  t.is(guardOf(checks, [NO_SECRET]).dueMs, undefined);
  const fine = guardOf(checks, [NO_SECRET]);
  t.is((await drive(fine, [called('{"a":'), called('1}')])).length, 2);
  // A tool's name alone is held as well.
  t.deepEqual(await guardOf(checks, [NO_SECRET]).push(called('')), []);
  // Without a check that runs early they go out as they come.
  const free = guardOf(checks, [{ contains: { words: ['secret'], operator: 'none' } }]);
  t.is((await free.push(called('{'))).length, 1);
});

test('what is held never grows above its bound', async (t) => {
  const checks = bench(t);
  const calls = guardOf(checks, [NO_SECRET], { maxHeldCharacters: 100 });
  let out = 0;
  for (let i = 0; i < 50; i++) out += (await calls.push(called('0123456789'))).length;
  t.true(out >= 40);
  await calls.end();
  t.is(calls.outcome?.decision, 'pass');
  // A suspicion that nothing clears counts at the bound.
  const suspect = guardOf(checks, [deny({ regexMatch: { rule: '^x', not: true } })], {
    maxHeldCharacters: 100,
    holdCharacters: 10,
  });
  let released = 0;
  for (let i = 0; i < 50 && suspect.outcome === undefined; i++)
    released += (await suspect.push(said('xyxyxyxyxy'))).length;
  t.is(released, 0);
  t.is(suspect.outcome?.decision, 'deny');
});

test('a stream of events that say nothing is not held without end', async (t) => {
  const guard = guardOf(bench(t), [NO_SECRET]);
  let [given, held] = [0, 1];
  given += (await guard.push(called('{'))).length;
  for (; held < 40_000; held++) {
    given += (await guard.push([])).length;
    t.true(held + 1 - given <= 16_385);
  }
  t.true(given > 0);
});

test('a stream of more texts than can be kept ends', async (t) => {
  const many = guardOf(bench(t), [NO_SECRET]);
  await t.throwsAsync(
    async () => {
      for (let call = 0; call < 10_000; call++) await many.push(called('x', call));
    },
    { instanceOf: GatewayError, message: /more texts/ },
  );
  const long = guardOf(bench(t), [{ contains: { words: ['secret'], operator: 'none' } }]);
  const text = 'x'.repeat(4 * 1024 * 1024);
  await t.throwsAsync(
    async () => {
      for (let i = 0; i < 10; i++) await long.push(said(text));
    },
    { instanceOf: GatewayError, message: /longer/ },
  );
});

test('a slow stream is not held longer than its time', async (t) => {
  const checks = bench(t);
  const guard = guardOf(checks, [NO_SECRET], { holdCharacters: 1000, holdMs: 30 });
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  async function* stream(): AsyncGenerator<Event> {
    yield said('first ');
    yield said('second ');
    await gate;
    yield said('last');
  }
  const out: Event[] = [];
  for await (const event of guardEvents(stream(), guard)) {
    out.push(event);
    // Nothing but the time lets the second event out before the stream goes on.
    if (out.length === 2) release();
  }
  t.is(textOf(out), 'first second last');
  t.is(guard.outcome?.decision, 'pass');
});

test('a stream that breaks gives what had come, once it is checked', async (t) => {
  const checks = bench(t);
  const run = async (text: string) => {
    async function* stream(): AsyncGenerator<Event> {
      yield said(text);
      throw new Error('cut');
    }
    const out: Event[] = [];
    const error = await t.throwsAsync(async () => {
      for await (const event of guardEvents(stream(), guardOf(checks, [NO_SECRET]))) out.push(event);
    });
    return [textOf(out), error?.message.slice(0, 13)];
  };
  t.deepEqual(await run('fine so far'), ['fine so far', 'cut']);
  t.deepEqual(await run('a secret'), ['', 'The guardrail']);
});

test('leaving early ends the stream behind the guard', async (t) => {
  const checks = bench(t);
  let ended = false;
  async function* stream(): AsyncGenerator<Event> {
    try {
      for (;;) yield said('x');
    } finally {
      ended = true;
    }
  }
  for await (const _ of guardEvents(stream(), guardOf(checks, [{ notNull: {} }]))) break;
  await sleep(0);
  t.true(ended);
});

test('hooks that write are known and refused', (t: ExecutionContext) => {
  const checks = bench(t);
  const redact = { regexReplace: { rule: 'x' } };
  t.true(mustHoldAnswer(hooks('output', NO_SECRET, redact)));
  t.false(mustHoldAnswer(hooks('output', NO_SECRET, { ...redact, async: true })));
  t.throws(() => guardOf(checks, [redact]), { message: /whole answers/ });
});

test('errors of early checks fail open or closed', async (t) => {
  const checks = bench(t, { sandbox: { deadlineMs: 100 } });
  const slow = (failOnError: boolean) => deny({ regexMatch: { rule: '(a|a)*b', not: true, failOnError } });
  const text = Array.from({ length: 20 }, () => said('aaaaa'));
  const open = guardOf(checks, [slow(false)], { holdCharacters: 40 });
  t.is((await drive(open, text)).length, 20);
  t.is(open.outcome?.decision, 'pass');
  const closed = guardOf(checks, [slow(true)], { holdCharacters: 40 });
  t.deepEqual(await drive(closed, text), []);
  t.is(closed.outcome?.decision, 'deny');
});

test('a log hook is told of the whole answer at the end', async (t) => {
  const checks = bench(t);
  const { url, asked } = await listen(t, (_, response) => answerJson(response, {}));
  const guard = guardOf(checks, [{ log: { logURL: url } }]);
  await drive(guard, [said('Hel'), said('lo'), called('{}')]);
  const { response } = JSON.parse(asked[0]?.body ?? '');
  t.like(response, { text: 'Hello', statusCode: 200 });
  t.deepEqual(response.json.choices[0].message, {
    role: 'assistant',
    content: 'Hello',
    tool_calls: [{ type: 'function', function: { name: 'send', arguments: '{}' } }],
  });
});

test('patterns that look around are known', (t) => {
  for (const source of ['^a', 'a$', '\\bx', 'x\\B', 'a(?=b)', 'a(?!b)', '(?<=a)b', '(?<!a)b', '(?:a|^b)'])
    t.true(looksAround(source), source);
  for (const source of ['a', '\\^a\\$', '[$^\\b]', '(?:a)', '(?<name>a)', '\\\\', '[\\]^]', 'a{2}'])
    t.false(looksAround(source), source);
});
