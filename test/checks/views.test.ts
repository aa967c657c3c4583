// What the checks see of each API's bodies, and texts written back.
import test from 'ava';
import fc from 'fast-check';
import type { Replaceable } from '../../src/checks/sandbox/patterns.ts';
import { replaceAll } from '../../src/checks/sandbox/replace.ts';
import { requestBody, responseBody } from '../../src/checks/view/body-of.ts';
import { replaceAt, rewriteSlots } from '../../src/checks/view/rewrite.ts';
import type { Api, Body, JsonObject } from '../../src/checks/view/traffic.ts';
import { bench, call, faultsOf, runOne } from './try-out.ts';

const seen = ({ slots }: Body) =>
  slots.map(({ unit, role, kind, text }) => `${unit} ${role} ${kind}: ${text}`);

const REQUESTS: readonly (readonly [Api, JsonObject, readonly string[], number])[] = [
  [
    'chat',
    {
      messages: [
        {
          role: 'user',
          content: [
            { type: 'document', title: 'DT', context: 'DC', source: { type: 'text', data: 'D' } },
            { type: 'document', source: { type: 'content', content: [{ type: 'text', text: 'E' }] } },
            { type: 'search_result', title: 'ST', content: [{ type: 'text', text: 'S' }] },
            { type: 'unheard_of', text: 'U', refusal: 'R' },
          ],
        },
      ],
    },
    ['DT', 'DC', 'D', 'E', 'ST', 'S', 'R', 'U'].map((text) => `0 user content: ${text}`),
    1,
  ],
  [
    'chat',
    {
      messages: [
        { role: 'system', content: 'S' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'U1' },
            { type: 'image_url', image_url: { url: 'x' } },
            { type: 'text', text: 'U2' },
          ],
        },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            { id: 'c', type: 'function', function: { name: 'f', arguments: '{"a":1}' } },
            { type: 'custom', custom: { name: 'g', input: 'raw' } },
          ],
          function_call: { name: 'h', arguments: '{}' },
        },
        { role: 'tool', tool_call_id: 'c', content: 'T' },
        { role: 'assistant', refusal: 'R', reasoning_content: 'why' },
        { role: 'assistant', content: 'A', reasoning_details: [{ text: 'so' }, { summary: 'thus' }, null] },
      ],
    },
    [
      '0 system content: S',
      '1 user content: U1',
      '1 user content: U2',
      '2 assistant tool_call: {"a":1}',
      '2 assistant tool_call: raw',
      '2 assistant tool_call: {}',
      '3 tool content: T',
      '4 assistant content: R',
      '4 assistant reasoning: why',
      '5 assistant content: A',
      '5 assistant reasoning: so',
      '5 assistant reasoning: thus',
    ],
    6,
  ],
  [
    'completions',
    { prompt: ['a', 'b'], suffix: 'c' },
    ['0 user content: a', '0 user content: b', '0 user content: c'],
    1,
  ],
  ['embeddings', { input: 'a' }, ['0 user content: a'], 1],
  ['moderations', { input: [{ type: 'text', text: 'a' }, { type: 'image_url' }] }, ['0 user content: a'], 1],
  ['embeddings', { inputs: [{ content: [{ type: 'text', text: 'a' }] }] }, ['0 user content: a'], 1],
  ['embeddings', { messages: [{ role: 'user', content: 'a' }] }, ['0 user content: a'], 1],
  [
    'rerank',
    { query: 'q', documents: ['a', { title: 'b', text: 'c' }] },
    ['0 user content: q', '0 user content: a', '0 user content: b', '0 user content: c'],
    1,
  ],
  ['other', { prompt: 'draw' }, ['0 user content: draw'], 1],
  ['responses', { input: 'a' }, ['0 user content: a'], 1],
  [
    'responses',
    {
      instructions: 'I',
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'U' }] },
        { type: 'reasoning', summary: [{ type: 'summary_text', text: 'because' }] },
        { type: 'function_call', name: 'f', arguments: '{"a":"x"}' },
        { type: 'function_call_output', call_id: 'c', output: 'O' },
        { type: 'custom_tool_call', name: 'g', input: 'free' },
        { type: 'shell_call_output', call_id: 'c', output: [{ stdout: 'out', stderr: 'err' }] },
        { type: 'mcp_call', name: 'm', arguments: '{}', output: 'M' },
        { type: 'shell_call', action: { commands: ['ls'] } },
        { type: 'apply_patch_call', operation: { type: 'delete_file', path: 'p' } },
        { type: 'code_interpreter_call', code: 'print()', outputs: [{ type: 'logs', logs: 'L' }] },
        { type: 'file_search_call', results: [{ file_id: 'x', text: 'found' }] },
      ],
    },
    [
      '0 system content: I',
      '1 user content: U',
      '2 assistant reasoning: because',
      '3 assistant tool_call: {"a":"x"}',
      '4 tool content: O',
      '5 assistant tool_call: free',
      '6 tool content: out',
      '6 tool content: err',
      '7 assistant tool_call: {}',
      '7 tool content: M',
      '8 assistant tool_call: {"commands":["ls"]}',
      '9 assistant tool_call: {"type":"delete_file","path":"p"}',
      '10 assistant tool_call: print()',
      '10 tool content: L',
      '11 tool content: found',
    ],
    12,
  ],
  [
    'messages',
    {
      system: [{ type: 'text', text: 'S' }],
      messages: [
        { role: 'user', content: 'U' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'hm', signature: 'x' },
            { type: 'tool_use', name: 'f', input: { a: 'x' } },
          ],
        },
        {
          role: 'user',
          content: [
            { type: 'tool_result', content: [{ type: 'text', text: 'T' }] },
            { type: 'document', title: 'DT', context: 'DC', source: { type: 'text', data: 'D' } },
            { type: 'search_result', title: 'ST', source: 'u', content: [{ type: 'text', text: 'SR' }] },
            { type: 'compaction', content: 'C' },
            { type: 'bash_code_execution_tool_result', content: { stdout: 'out', stderr: 'err' } },
          ],
        },
      ],
    },
    [
      '0 system content: S',
      '1 user content: U',
      '2 assistant reasoning: hm',
      '2 assistant tool_call: {"a":"x"}',
      '3 tool content: T',
      '3 user content: DT',
      '3 user content: DC',
      '3 user content: D',
      '3 user content: ST',
      '3 user content: SR',
      '3 user content: C',
      '3 user content: out',
      '3 user content: err',
    ],
    4,
  ],
];

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const DATA = base64('text');
const asked = (part: JsonObject): JsonObject => ({ messages: [{ role: 'user', content: [part] }] });
const parts = (...all: JsonObject[]): JsonObject => ({ contents: [{ role: 'user', parts: all }] });

/** One text file in each place that may hold one. */
const FILES: readonly (readonly [Api, JsonObject])[] = [
  ['chat', asked({ type: 'file', file: { file_data: `data:text/plain;base64,${DATA}` } })],
  ['chat', asked({ type: 'file', file: { file_data: DATA, filename: 'a.TXT' } })],
  ['chat', asked({ type: 'file', file: { file_data: DATA, mime_type: 'application/json' } })],
  ['chat', asked({ type: 'file', file: { file_data: `data:;base64,${DATA}`, filename: 'a.md' } })],
  ['chat', asked({ type: 'image_url', image_url: { url: `data:text/csv;base64,${DATA}` } })],
  ['chat', asked({ type: 'image_url', image_url: `data:text/csv;base64,${DATA}` })],
  ['chat', asked({ type: 'video_url', video_url: { url: `data:text/html;base64,${DATA}` } })],
  ['gemini', parts({ inlineData: { mimeType: 'text/plain', data: DATA } })],
  ['gemini', parts({ inline_data: { mime_type: 'TEXT/markdown; charset=utf-8', data: DATA } })],
  ['gemini', { contents: { parts: [{ inline_data: { mimeType: 'application/ld+json', data: DATA } }] } }],
  ['messages', asked({ type: 'document', source: { type: 'base64', media_type: 'text/plain', data: DATA } })],
  ['converse', asked({ document: { format: 'txt', source: { bytes: DATA } } })],
  ['converse', asked({ document: { format: 'pdf', source: { content: [{ text: 'text' }] } } })],
  [
    'responses',
    { input: [{ role: 'user', content: [{ type: 'input_file', filename: 'a.csv', file_data: DATA }] }] },
  ],
  [
    'responses',
    {
      input: [
        { role: 'user', content: [{ type: 'input_image', image_url: `data:text/xml;base64,${DATA}` }] },
      ],
    },
  ],
];

const ODD: readonly (readonly [Api, JsonObject, readonly string[]])[] = [
  [
    'chat',
    { messages: [{ role: 'user', content: ['a', { type: 'text', text: 'b' }] }] },
    ['0 user content: a', '0 user content: b'],
  ],
  ['chat', { messages: [{ role: 'user', content: { type: 'text', text: 'a' } }] }, ['0 user content: a']],
  [
    'messages',
    { system: { type: 'text', text: 'S' }, messages: [{ role: 'user', content: ['a'] }] },
    ['0 system content: S', '1 user content: a'],
  ],
  ['responses', { input: [{ type: 'input_text', text: 'a' }] }, ['0 user content: a']],
  [
    'chat',
    { messages: [{ role: 'user', content: 'a' }], prediction: { type: 'content', content: 'b' } },
    ['0 user content: a', '0 user content: b'],
  ],
  [
    'chat',
    { messages: [{}, {}], prediction: { type: 'content', content: [{ type: 'text', text: 'b' }] } },
    ['1 user content: b'],
  ],
  ...FILES.map(
    ([api, json]) => [api, json, ['0 user content: text']] as const satisfies (typeof ODD)[number],
  ),
];

const RESPONSES: readonly (readonly [Api, JsonObject, readonly string[], number])[] = [
  [
    'chat',
    {
      choices: [
        { message: { content: 'A' } },
        { message: { content: null, refusal: 'no', audio: { transcript: 'said' } } },
      ],
    },
    ['0 assistant content: A', '1 assistant content: no', '1 assistant content: said'],
    2,
  ],
  [
    'completions',
    { choices: [{ text: 'a' }, { text: 'b' }] },
    ['0 assistant content: a', '1 assistant content: b'],
    2,
  ],
  [
    'responses',
    {
      output: [
        {
          type: 'message',
          role: 'assistant',
          content: [
            { type: 'output_text', text: 'A' },
            { type: 'refusal', refusal: 'R' },
          ],
        },
        { type: 'function_call', name: 'f', arguments: '{}' },
      ],
    },
    ['0 assistant content: A', '0 assistant content: R', '0 assistant tool_call: {}'],
    1,
  ],
  [
    'messages',
    {
      content: [
        { type: 'text', text: 'A' },
        { type: 'tool_use', name: 'f', input: {} },
      ],
    },
    ['0 assistant content: A', '0 assistant tool_call: {}'],
    1,
  ],
  ['embeddings', { data: [{ embedding: [1] }] }, [], 1],
];

test('requests', (t) => {
  for (const [api, json, texts, units] of REQUESTS) {
    const body = requestBody(api, json);
    t.deepEqual(seen(body), texts as string[]);
    t.is(body.units, units);
    t.false(body.opaque);
  }
});

test('shapes that only some providers take are seen too', (t) => {
  for (const [api, json, texts] of ODD)
    t.deepEqual(seen(requestBody(api, json)).toSorted(), texts.toSorted());
});

test('answers', (t) => {
  for (const [api, json, texts, units] of RESPONSES) {
    const body = responseBody(api, json);
    t.deepEqual(seen(body), texts as string[]);
    t.is(body.units, units);
  }
});

test('tokens in place of text are noticed', (t) => {
  t.true(requestBody('embeddings', { input: [1, 2] }).opaque);
  t.true(requestBody('completions', { prompt: [[1], [2]] }).opaque);
  t.false(requestBody('completions', { prompt: [] }).opaque);
});

test('a text file that is too long or in another encoding is noticed, and other files are left alone', (t) => {
  const opaque = (mimeType: string, data: string): boolean =>
    requestBody('gemini', parts({ inlineData: { mimeType, data } })).opaque;
  t.true(opaque('text/plain', base64('x'.repeat(2_100_000))));
  t.true(opaque('text/plain', Buffer.from('text', 'utf16le').toString('base64')));
  t.true(opaque('text/plain; charset="utf-16"', DATA));
  t.true(
    requestBody(
      'gemini',
      parts(
        ...Array(5).fill({ inlineData: { mimeType: 'text/plain', data: base64('x'.repeat(1_500_000)) } }),
      ),
    ).opaque,
  );
  t.true(requestBody('chat', asked({ type: 'file', file: { file_data: 'data:text/plain,text' } })).opaque);
  for (const type of ['image/png', 'application/pdf', 'audio/wav']) {
    t.false(opaque(type, base64('\0\uFFFD')));
    t.deepEqual(seen(requestBody('gemini', parts({ inlineData: { mimeType: type, data: DATA } }))), []);
  }
});

test('a text file is rewritten in its encoding', async (t) => {
  for (const [api, json] of FILES) {
    const rewritten = await rewriteSlots(json, requestBody(api, json).slots, async () => ['other']);
    t.deepEqual(seen(requestBody(api, rewritten ?? {})), ['0 user content: other']);
    t.deepEqual(
      JSON.stringify(rewritten).replace(base64('other'), DATA).replace('"other"', '"text"'),
      JSON.stringify(json),
    );
  }
});

const APIS = fc.constantFrom<Api>(
  'chat',
  'completions',
  'embeddings',
  'responses',
  'messages',
  'moderations',
  'other',
);
const NAMES = fc.constantFrom(
  'messages',
  'content',
  'role',
  'text',
  'input',
  'output',
  'type',
  'tool_calls',
  'function',
  'arguments',
  'choices',
  'message',
  'system',
  'prompt',
  'name',
  '__proto__',
);
const { value: JSON_VALUE } = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'medium' },
    fc.constantFrom('text', 'tool_use', '{"a":["b"]}', '[', 'user', 1, null, true),
    fc.array(tie('value'), { maxLength: 3 }),
    fc.dictionary(NAMES, tie('value'), { maxKeys: 4 }),
  ),
}));

test('whatever JSON comes is read, and every slot’s path leads to its text', (t) => {
  fc.assert(
    fc.property(APIS, fc.dictionary(NAMES, JSON_VALUE), (api, json) => {
      for (const { slots } of [requestBody(api, json), responseBody(api, json)]) {
        for (const { path, text, form } of slots) {
          let at: unknown = json;
          for (const key of path) at = (at as Record<string | number, unknown>)[key];
          t.is(form === 'json' ? JSON.stringify(at) : at, text);
        }
      }
    }),
    { numRuns: 300 },
  );
});

test('texts written back change their own places and nothing else', async (t) => {
  await fc.assert(
    fc.asyncProperty(APIS, fc.dictionary(NAMES, JSON_VALUE), async (api, json) => {
      const before = JSON.stringify(json);
      const { slots } = requestBody(api, json);
      t.is(await rewriteSlots(json, slots, async (texts) => texts.map(({ text }) => text)), undefined);
      const marked = await rewriteSlots(json, slots, async (texts) => replaced(texts, /^([\s\S]*)$/, '<$1>'));
      t.is(JSON.stringify(json), before);
      if (marked === undefined) return;
      const back = await rewriteSlots(marked, requestBody(api, marked).slots, async (texts) =>
        replaced(texts, /^<([\s\S]*)>$/, '$1'),
      );
      // Arguments that are JSON text are written anew, in the same meaning.
      t.deepEqual(plain(back), plain(json));
    }),
    { numRuns: 300 },
  );
});

function replaced(texts: readonly Replaceable[], pattern: RegExp, by: string): string[] {
  return replaceAll(() => pattern, pattern, texts, by).map(({ text }) => text);
}

/** JSON with texts that hold JSON read. */
function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value), (_, one) => (one === '{"a":["b"]}' ? { a: ['b'] } : one));
}

test('a copy with another value shares what lies beside the path', (t) => {
  const json = { a: { b: [1, { c: 2 }] }, d: {} };
  const copy = replaceAt(json, ['a', 'b', 1, 'c'], 3) as typeof json;
  t.deepEqual(copy, { a: { b: [1, { c: 3 }] }, d: {} });
  t.is(copy.d, json.d);
  t.is((json.a.b[1] as { c: number }).c, 2);
});

test('JSON that is nested without end is read, or said to be unreadable, and nothing overflows', async (t) => {
  const checks = bench(t);
  const nest = (open: string, close: string, times: number) =>
    JSON.parse(`${open.repeat(times)}"x"${close.repeat(times)}`);
  const deep = nest('[{"type":"tool_result","content":', '}]', 200_000);
  const claude = (content: unknown) =>
    call({ api: 'messages', request: { messages: [{ role: 'user', content }] } });
  t.true(claude(deep).request.opaque);
  t.false(claude(nest('[{"type":"tool_result","content":', '}]', 3)).request.opaque);
  const input = nest('{"a":', '}', 200_000);
  const calling = claude([{ type: 'tool_use', name: 'f', input }]);
  t.true(calling.request.opaque);
  const words = { words: ['x'], operator: 'none' };
  t.is((await runOne(checks, calling, 'contains', words)).error?.name, 'UnreadableInputError');
  for (const api of ['chat', 'responses', 'messages', 'embeddings'] as const) {
    for (const json of [
      { messages: deep, input: deep, system: deep, prompt: deep },
      { messages: [input], input: [input] },
    ]) {
      const traffic = call({ api, request: json });
      for (const id of ['webhook', 'regexReplace']) {
        const parameters = id === 'webhook' ? { webhookURL: 'http://127.0.0.1:1' } : { rule: 'x' };
        const result = await runOne(checks, traffic, id, parameters);
        t.not(result.error?.name, 'CheckError');
      }
    }
  }
  t.regex(faultsOf('input', { jsonSchema: { schema: input } })[0] ?? '', /schema: has at most/);
  t.regex(
    faultsOf('input', { notNull: {}, on_fail: { feedback: { metadata: input } } })[0] ?? '',
    /metadata: has at most/,
  );
});
