// The checks that judge texts, case by case.
import test from 'ava';
import fc from 'fast-check';
import { countCharacters } from '../../src/checks/sandbox/text/characters.ts';
import { fencedLanguages } from '../../src/checks/sandbox/text/fences.ts';
import { countSentences } from '../../src/checks/sandbox/text/sentences.ts';
import { countWords } from '../../src/checks/sandbox/text/words.ts';
import type { JsonObject } from '../../src/checks/view/traffic.ts';
import { answering, bench, call, faultsOf, runOne, saying } from './try-out.ts';

/** check, parameters, text, verdict, and members of the data. */
const CASES: readonly (readonly [string, JsonObject, string, boolean, JsonObject?])[] = [
  [
    'regexMatch',
    { rule: '(?<year>\\d{4})-(\\d\\d)' },
    'on 2026-11',
    true,
    {
      regexPattern: '(?<year>\\d{4})-(\\d\\d)',
      matchDetails: { matchedText: '2026-11', index: 3, groups: { year: '2026' }, captures: ['2026', '11'] },
      not: false,
      textExcerpt: 'on 2026-11',
    },
  ],
  ['regexMatch', { rule: '^\\d+$' }, 'no digits', false, { matchDetails: null }],
  ['regexMatch', { rule: 'secret', not: true }, 'a secret', false, { not: true, verdict: false }],
  ['regexMatch', { rule: 'secret', not: true }, 'nothing', true],
  ['regexMatch', { rule: '(?<=Mr )Smith(?! Jr)' }, 'Mr Smith', true],
  ['default.regexmatch', { rule: '(a)\\1' }, 'aa', true],
  ['regexMatch', { rule: '^.$' }, '😀', false],
  ['regexMatch', { rule: 'x' }, '', false],

  ['wordCount', { minWords: 2, maxWords: 3 }, 'one two', true, { wordCount: 2, minCount: 2, maxCount: 3 }],
  ['wordCount', { minWords: 2, maxWords: 3 }, ' one\n\ttwo  three four ', false, { wordCount: 4 }],
  ['wordCount', { min_words: 1 }, '', false, { wordCount: 0, maxCount: 99_999 }],
  ['wordCount', { maxWords: 1, not: true }, 'a b', true],
  ['wordCount', { minWords: '2' }, 'a b', true],
  ['wordCount', { maxWords: 2 }, 'eins\u3000zwei', true, { wordCount: 2 }],

  ['characterCount', { maxCharacters: 2 }, '😀é', true, { characterCount: 2 }],
  ['characterCount', { minCharacters: 3 }, '😀é', false, { characterCount: 2 }],
  ['characterCount', {}, '\ud83d', true, { characterCount: 1, maxCount: 9_999_999 }],

  ['sentenceCount', { maxSentences: 1 }, 'Pi is 3.14 and e is 2.71.', true, { sentenceCount: 1 }],
  [
    'sentenceCount',
    { minSentences: 3, maxSentences: 3 },
    'One... Two?! "Three."',
    true,
    { sentenceCount: 3 },
  ],
  ['sentenceCount', { minSentences: 2, maxSentences: 2 }, '今日は。元気？', true, { sentenceCount: 2 }],
  ['sentenceCount', {}, 'no end', true, { sentenceCount: 1 }],
  ['sentenceCount', {}, '... !', true, { sentenceCount: 0 }],
  ['sentenceCount', {}, '1. First thing\n2. Second thing', true, { sentenceCount: 1 }],
  ['sentenceCount', { minSentences: 1, not: true }, '', true, { sentenceCount: 0 }],

  [
    'contains',
    { words: ['a', 'b'], operator: 'any' },
    'xbx',
    true,
    { foundWords: ['b'], missingWords: ['a'] },
  ],
  ['contains', { words: ['a', 'b'], operator: 'all' }, 'xbx', false],
  ['contains', { words: ['a', 'b'], operator: 'none' }, 'xyz', true, { operator: 'none' }],
  ['contains', { words: ['a', 'b'], operator: 'none' }, 'xaz', false],
  ['contains', { words: ['Apple'], operator: 'any' }, 'apple', false],
  ['contains', { words: 'one, two words', operator: 'all' }, 'two words one', true],
  ['contains', { words: ['é'], operator: 'any' }, 'café', true],

  ['endsWith', { suffix: 'end' }, 'the end', true, { suffix: 'end' }],
  ['endsWith', { suffix: 'end' }, 'the end.', true],
  ['endsWith', { suffix: 'end' }, 'the end..', false],
  ['endsWith', { suffix: 'end', not: true }, 'endless', true],

  ['alllowercase', {}, 'abc 1 ß 漢字', true],
  ['alllowercase', {}, 'abC', false],
  ['isAllLowerCase', {}, 'É', false],
  ['alluppercase', {}, 'ABC 1!', true],
  ['allUpperCase', { not: true }, 'ABc', true],

  ['containsCode', { format: 'Python' }, 'see\n```py\nx = 1\n```', true, { foundFormats: ['Python'] }],
  ['containsCode', { format: 'C#' }, '```csharp\n```', true, { searchedFormat: 'C#' }],
  [
    'containsCode',
    { format: 'TypeScript' },
    '~~~ts title="a"\n~~~\n```sql\nselect\n```',
    true,
    { foundFormats: ['TypeScript', 'SQL'] },
  ],
  ['containsCode', { format: 'SQL' }, '```\nselect 1\n```', false, { foundFormats: [] }],
  [
    'containsCode',
    { format: 'SQL', not: true },
    '````md\n```sql\n```\n````',
    true,
    { foundFormats: ['Markdown'] },
  ],
  ['containsCode', { format: 'Zig' }, '```zig\n', true],

  ['notNull', {}, 'x', true, { isNull: false, contentType: 'text' }],
  ['notNull', {}, ' \n', false, { isNull: true, contentType: 'null' }],

  [
    'jsonKeys',
    { keys: ['a', 'b'], operator: 'any' },
    'x {"b":{"a":1}} y',
    true,
    { presentKeys: ['b'], missingKeys: ['a'], matchedJson: { b: { a: 1 } } },
  ],
  [
    'jsonKeys',
    { keys: ['a', 'b'], operator: 'all' },
    '{"a":1} and {"a":2,"b":3}',
    true,
    { matchedJson: { a: 2, b: 3 } },
  ],
  ['jsonKeys', { keys: ['a'], operator: 'none' }, '{"b":1} {"a":1}', false],
  ['jsonKeys', { keys: ['toString'], operator: 'any' }, '{"b":1}', false],
  ['jsonKeys', { keys: ['a'], operator: 'all' }, 'no json', false, { matchedJson: null }],
];

test('texts, one case after another, on both sides of a call', async (t) => {
  const checks = bench(t);
  for (const [id, parameters, text, verdict, data] of CASES) {
    for (const traffic of [saying(text), answering(text)]) {
      const result = await runOne(checks, traffic, id, parameters);
      const what = `${id} ${JSON.stringify(parameters)} ${JSON.stringify(text)}`;
      t.is(result.error, undefined, what);
      t.is(result.verdict, verdict, what);
      if (data !== undefined) t.like(result.data, data, what);
    }
  }
});

test('parameters that are not well are named by their path, all of them', (t) => {
  const rows: readonly (readonly [JsonObject, readonly RegExp[]])[] = [
    [{ regexMatch: {} }, [/^hooks\[0\]\.regexMatch\.rule: is required$/]],
    [{ regexMatch: { rule: '(' } }, [/^hooks\[0\]\.regexMatch\.rule: is not a regular expression/]],
    [{ regexMatch: { rule: 7, not: 'no' } }, [/rule: must be a text$/, /not: must be true or false$/]],
    [{ regexReplace: { rule: '/(/gi' } }, [/rule: is not a regular expression/]],
    [{ wordCount: { minWords: 3, maxWords: 2 } }, [/minWords: must not be greater than maxWords$/]],
    [{ wordCount: { minWords: 1.5 } }, [/minWords: must be a whole number/]],
    [{ wordCount: { minWord: 1 } }, [/minWord: is not known here; known are minWords, maxWords, not$/]],
    [{ wordCount: { minWords: 1, min_words: 2 } }, [/min_words: says the same as minWords$/]],
    [
      { contains: { words: [], operator: 'some' } },
      [/words: must not be empty$/, /operator: must be one of any, all, none$/],
    ],
    [{ contains: { words: ['a', 7], operator: 'any' } }, [/words\[1\]: must be a text/]],
    [{ contains: [] }, [/^hooks\[0\]\.contains: must be an object/]],
    [{ jsonKeys: { keys: ['a'] } }, [/operator: is required$/]],
    [{ endsWith: { suffix: '' } }, [/suffix: must not be empty$/]],
    [{ containsCode: {} }, [/format: is required$/]],
    [{ notNull: { scope: 'every' } }, [/scope: must be one of last, user, all$/]],
    [{ notNull: { timeout: 0 } }, [/timeout: must be a whole number from 1/]],
    [{ noSuchCheck: {} }, [/noSuchCheck: there is no check called "noSuchCheck"$/]],
    [{ 'acme.check': {} }, [/there is no check called "acme.check"$/]],
  ];
  for (const [hook, expected] of rows) {
    const found = faultsOf('input', hook);
    t.is(found.length, expected.length, JSON.stringify(found));
    for (const [index, pattern] of expected.entries()) t.regex(found[index] ?? '', pattern);
  }
});

test('every choice is examined: one bad choice fails, whichever it is', async (t) => {
  const checks = bench(t);
  const bad = { contains: { words: ['secret'], operator: 'none' } };
  for (const choices of [
    ['a', 'secret'],
    ['secret', 'a'],
    ['a', 'b', 'the secret'],
  ]) {
    const { verdict, data } = await runOne(checks, answering(...choices), 'contains', bad.contains);
    t.false(verdict);
    t.is(
      data?.choice,
      choices.findIndex((one) => one.includes('secret')),
    );
  }
  t.true((await runOne(checks, answering('a', 'b'), 'contains', bad.contains)).verdict);
  t.false((await runOne(checks, answering('Yes.', 'no'), 'regexMatch', { rule: 'Yes' })).verdict);
});

test('tool calls are examined, also what is hidden by escapes in their arguments', async (t) => {
  const checks = bench(t);
  const calling = (args: string) =>
    answering({ content: null, tool_calls: [{ function: { name: 'send', arguments: args } }] });
  const none = { words: ['secret'], operator: 'none' };
  t.false((await runOne(checks, calling('{"to":"secret"}'), 'contains', none)).verdict);
  t.false((await runOne(checks, calling('{"to":"\\u0073ecret"}'), 'contains', none)).verdict);
  t.true((await runOne(checks, calling('{"to":"public"}'), 'contains', none)).verdict);
  t.true(
    (await runOne(checks, calling('{"to":"secret"}'), 'contains', { ...none, includeToolCalls: false }))
      .verdict,
  );
  t.false((await runOne(checks, calling('{}'), 'regexMatch', { rule: 'send', not: true })).verdict);
  t.true((await runOne(checks, calling('{"to":1}'), 'jsonKeys', { keys: ['to'], operator: 'all' })).verdict);
  const empty = await runOne(checks, calling('{}'), 'notNull', {});
  t.true(empty.verdict);
  t.is(empty.data?.contentType, 'tool_calls');
  t.is((await runOne(checks, calling('{"a":"b c d"}'), 'wordCount', {})).data?.wordCount, 0);
});

test('the scope chooses how much of a conversation is examined', async (t) => {
  const checks = bench(t);
  const messages = [
    { role: 'system', content: 'system word' },
    { role: 'user', content: 'early word' },
    { role: 'assistant', content: 'assistant word' },
    { role: 'user', content: 'last' },
  ];
  const counted = async (scope: object) => {
    const { data } = await runOne(checks, call({ request: { messages } }), 'wordCount', { ...scope });
    return data?.wordCount;
  };
  t.is(await counted({}), 1);
  t.is(await counted({ scope: 'last' }), 1);
  t.is(await counted({ scope: 'user' }), 3);
  t.is(await counted({ scope: 'all' }), 7);
});

test('tokens in place of text cannot be judged', async (t) => {
  const checks = bench(t);
  const traffic = call({ api: 'embeddings', request: { model: 'm', input: [[1, 2, 3]] } });
  const open = await runOne(checks, traffic, 'contains', { words: ['x'], operator: 'none' });
  t.true(open.verdict);
  t.is(open.error?.name, 'UnreadableInputError');
  const closed = await runOne(checks, traffic, 'contains', {
    words: ['x'],
    operator: 'none',
    failOnError: true,
  });
  t.false(closed.verdict);
  t.true(closed.fail_on_error);
});

test('what is counted agrees with its definition, for any text', (t) => {
  const text = fc.string({
    unit: fc.constantFrom('a', 'É', '😀', '\ud83d', ' ', '\n', '\u3000', '.', '!', '。', '3', '"', '`', '~'),
  });
  fc.assert(
    fc.property(text, (one) => {
      t.is(countCharacters(one), [...one].length);
      t.is(countWords(one), one.split(/\s+/).filter(Boolean).length);
      const sentences = countSentences(one);
      t.true(sentences <= [...one].filter((char) => '.!。'.includes(char)).length + 1);
      t.is(sentences > 0, /[\p{L}\p{N}]/u.test(one.replace(/^[ \t]*\d{1,4}\.(?=[ \t])/gm, '')));
      t.true(Array.isArray(fencedLanguages(one)));
    }),
    { numRuns: 1000 },
  );
});
