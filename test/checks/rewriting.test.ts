// The checks that write: regexReplace and addPrefix, in every API's shape.
import test from 'ava';
import type { HookResult } from '../../src/checks/runner/hook-result.ts';
import type { Api, JsonObject } from '../../src/checks/view/traffic.ts';
import { answering, bench, call, listen, runHooks, runOne, saying } from './try-out.ts';

const PHONE = { rule: '\\d{3}-\\d{4}', redactText: '<phone>' };

test('what a pattern finds is replaced wherever a text may stand', async (t) => {
  const checks = bench(t);
  const n = '555-1234';
  const rows: readonly (readonly [Api, JsonObject, JsonObject])[] = [
    [
      'chat',
      { messages: [{ role: 'user', content: `call ${n} or ${n}` }] },
      { messages: [{ role: 'user', content: 'call <phone> or <phone>' }] },
    ],
    [
      'chat',
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: n },
              { type: 'image_url', image_url: { url: `http://x/${n}` } },
            ],
          },
        ],
        tools: [n],
      },
      {
        messages: [
          {
            role: 'user',
            content: [
              { type: 'text', text: '<phone>' },
              { type: 'image_url', image_url: { url: `http://x/${n}` } },
            ],
          },
        ],
        tools: [n],
      },
    ],
    [
      'chat',
      {
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [
              { id: 'a', function: { name: 'f', arguments: `{"a":["\\u0035${n.slice(1)}"],"b":2}` } },
            ],
          },
        ],
      },
      {
        messages: [
          {
            role: 'assistant',
            content: null,
            tool_calls: [{ id: 'a', function: { name: 'f', arguments: '{"a":["<phone>"],"b":2}' } }],
          },
        ],
      },
    ],
    ['completions', { prompt: [n, 'x'] }, { prompt: ['<phone>', 'x'] }],
    ['embeddings', { input: n, model: 'm' }, { input: '<phone>', model: 'm' }],
    ['responses', { input: n, instructions: n }, { input: '<phone>', instructions: n }],
    [
      'responses',
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'function_call_output', call_id: 'c', output: n },
        ],
      },
      {
        input: [
          { role: 'user', content: 'x' },
          { type: 'function_call_output', call_id: 'c', output: '<phone>' },
        ],
      },
    ],
    [
      'messages',
      {
        system: n,
        messages: [
          {
            role: 'user',
            content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: n }] }],
          },
        ],
      },
      {
        system: n,
        messages: [
          {
            role: 'user',
            content: [
              { type: 'tool_result', tool_use_id: 't', content: [{ type: 'text', text: '<phone>' }] },
            ],
          },
        ],
      },
    ],
    [
      'messages',
      {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 't', name: 'f', input: { deep: [{ n }] } }],
          },
        ],
      },
      {
        messages: [
          {
            role: 'assistant',
            content: [{ type: 'tool_use', id: 't', name: 'f', input: { deep: [{ n: '<phone>' }] } }],
          },
        ],
      },
    ],
  ];
  for (const [api, request, expected] of rows) {
    const before = JSON.stringify(request);
    const run = await runHooks(checks, call({ api, request }), { regexReplace: PHONE });
    t.deepEqual(run.request, expected);
    t.is(JSON.stringify(request), before, 'what came in stays as it was');
    t.like(run.results[0], { verdict: true, transformed: true });
    t.is(run.decision, 'pass');
  }
});

test('every choice of an answer is redacted, and the request is left alone', async (t) => {
  const checks = bench(t);
  const traffic = answering(
    '555-1234',
    { content: 'none' },
    { content: 'x 555-9999', tool_calls: [{ function: { name: 'f', arguments: '{"n":"555-0000"}' } }] },
  );
  const run = await runHooks(checks, traffic, { regexReplace: PHONE });
  t.is(run.request, traffic.request.json);
  t.deepEqual(run.response, {
    choices: [
      { message: { role: 'assistant', content: '<phone>' } },
      { message: { content: 'none' } },
      {
        message: {
          content: 'x <phone>',
          tool_calls: [{ function: { name: 'f', arguments: '{"n":"<phone>"}' } }],
        },
      },
    ],
  });
});

test('patterns with flags, groups and detection', async (t) => {
  const checks = bench(t);
  const content = async (parameters: JsonObject) => {
    const result = await runOne(checks, saying('Card CARD 1234-5678'), 'regexReplace', parameters);
    const [message] = result.run.request.messages as { content: string }[];
    return { ...result, text: message?.content };
  };
  t.is((await content({ rule: '/card/gi' })).text, '[REDACTED] [REDACTED] 1234-5678');
  t.is((await content({ rule: '/card/i' })).text, '[REDACTED] [REDACTED] 1234-5678');
  t.is((await content({ rule: '(\\d{4})-(\\d{4})', redactText: '****-$2' })).text, 'Card CARD ****-5678');
  t.is((await content({ rule: 'CARD ', redactText: '' })).text, 'Card 1234-5678');
  const caught = await content({ rule: 'CARD', failOnDetection: true });
  t.deepEqual([caught.verdict, caught.transformed, caught.run.decision], [false, true, 'flag']);
  t.like(caught.data, { regexPattern: 'CARD', matchCount: 1 });
  const none = await content({ rule: 'nothing', failOnDetection: true });
  t.deepEqual([none.verdict, none.transformed], [true, false]);
  t.is((await content({ rule: 'x', scope: 'all' })).transformed, false);
});

test('redactions of several hooks all stand in the end', async (t) => {
  const checks = bench(t);
  const run = await runHooks(
    checks,
    saying('alpha beta gamma'),
    { regexReplace: { rule: 'alpha', redactText: 'A' } },
    {
      one: { id: 'regexReplace', rule: 'beta', redactText: 'B' },
      two: { id: 'regexReplace', rule: 'gamma', redactText: 'C' },
    },
    { contains: { words: ['alpha'], operator: 'none' } },
  );
  t.deepEqual(run.request.messages, [{ role: 'user', content: 'A B C' }]);
  // Guardrails that only judge see the request as it came.
  t.like(run.results[2], { verdict: false });
});

test('a prefix, in every API’s shape', async (t) => {
  const checks = bench(t);
  const user = { role: 'user', content: 'hi' };
  const rows: readonly (readonly [Api, JsonObject, JsonObject, JsonObject])[] = [
    ['completions', { prefix: 'P ' }, { prompt: 'x' }, { prompt: 'P x' }],
    ['completions', { prefix: 'P ' }, { prompt: ['x', 'y'] }, { prompt: ['P x', 'P y'] }],
    [
      'chat',
      { prefix: 'P ' },
      { messages: [user, user] },
      { messages: [{ role: 'user', content: 'P hi' }, user] },
    ],
    [
      'chat',
      { prefix: 'P ', addToExisting: false },
      { messages: [user] },
      { messages: [{ role: 'user', content: 'P ' }, user] },
    ],
    ['chat', { prefix: 'P ', onlyIfEmpty: true }, { messages: [user] }, { messages: [user] }],
    [
      'chat',
      { prefix: 'P', applyToRole: 'system', onlyIfEmpty: true },
      { messages: [user] },
      { messages: [{ role: 'system', content: 'P' }, user] },
    ],
    [
      'chat',
      { prefix: 'P', apply_to_role: 'assistant' },
      { messages: [user] },
      { messages: [user, { role: 'assistant', content: 'P' }] },
    ],
    [
      'chat',
      { prefix: 'P ' },
      { messages: [{ role: 'user', content: [{ type: 'image_url' }, { type: 'text', text: 'hi' }] }] },
      { messages: [{ role: 'user', content: [{ type: 'image_url' }, { type: 'text', text: 'P hi' }] }] },
    ],
    [
      'messages',
      { prefix: 'P ', applyToRole: 'system' },
      { system: 'S', messages: [user] },
      { system: 'P S', messages: [user] },
    ],
    [
      'messages',
      { prefix: 'P', applyToRole: 'system' },
      { messages: [user] },
      { system: 'P', messages: [user] },
    ],
    ['responses', { prefix: 'P ' }, { input: 'x' }, { input: 'P x' }],
    [
      'responses',
      { prefix: 'P ', applyToRole: 'system' },
      { input: 'x', instructions: 'I' },
      { input: 'x', instructions: 'P I' },
    ],
    ['embeddings', { prefix: 'P ' }, { input: 'x' }, { input: 'x' }],
  ];
  for (const [api, parameters, request, expected] of rows) {
    const run = await runHooks(checks, call({ api, request }), { type: 'mutator', addPrefix: parameters });
    t.deepEqual(run.request, expected, JSON.stringify([api, parameters]));
  }
});

test('images that are named by URL are put in as data, where they may be fetched', async (t) => {
  const checks = bench(t);
  const { url, asked } = await listen(t, ({ path }, response) => {
    if (path === '/big.png') response.writeHead(200, { 'content-type': 'image/png' }).end('x'.repeat(2000));
    else if (path === '/page') response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    else if (path === '/a.png') response.writeHead(200, { 'content-type': 'image/png; q=1' }).end('png');
    else response.writeHead(404).end();
  });
  const data = `data:image/png;base64,${Buffer.from('png').toString('base64')}`;
  const chat = (image: string) => ({
    messages: [
      {
        role: 'user',
        content: [
          { type: 'text', text: 'see' },
          { type: 'image_url', image_url: { url: image, detail: 'low' } },
        ],
      },
    ],
  });
  const run = async (api: Api, request: JsonObject, parameters: JsonObject = {}) => {
    const hooks = await runHooks(checks, call({ api, request }), {
      type: 'mutator',
      inlineImageUrls: parameters,
    });
    const [hook] = hooks.results as HookResult[];
    return { json: hooks.request, check: hook?.checks[0], decision: hooks.decision };
  };
  t.deepEqual((await run('chat', chat(`${url}/a.png`))).json, chat(data));
  t.is(asked[0]?.headers.authorization, undefined);
  const claude = (source: object) => ({ messages: [{ role: 'user', content: [{ type: 'image', source }] }] });
  const toolResult = (source: object) => ({
    messages: [
      {
        role: 'user',
        content: [{ type: 'tool_result', tool_use_id: 't', content: [{ type: 'image', source }] }],
      },
    ],
  });
  t.deepEqual(
    (await run('messages', claude({ type: 'url', url: `${url}/a.png` }))).json,
    claude({ type: 'base64', media_type: 'image/png', data: Buffer.from('png').toString('base64') }),
  );
  const input = (image: string) => ({
    input: [{ role: 'user', content: [{ type: 'input_image', image_url: image }] }],
  });
  t.deepEqual((await run('responses', input(`${url}/a.png`))).json, input(data));
  const output = (image: string) => ({
    input: [
      {
        type: 'function_call_output',
        call_id: 'c',
        output: [{ type: 'input_image', image_url: image }],
      },
    ],
  });
  t.deepEqual((await run('responses', output(`${url}/a.png`))).json, output(data));
  t.deepEqual(
    (await run('messages', toolResult({ type: 'url', url: `${url}/a.png` }))).json,
    toolResult({ type: 'base64', media_type: 'image/png', data: Buffer.from('png').toString('base64') }),
  );
  for (const edit of [
    (image: string) => ({
      prompt: 'p',
      images: [{ image_url: image }, { file_id: 'f' }],
      mask: { image_url: image },
    }),
    (image: string) => ({ prompt: 'p', image: [image, 'x'], mask: image }),
    (image: string) => ({ prompt: 'p', image: { url: image, type: 'image_url' } }),
    (image: string) => ({ prompt: 'p', image_url: image }),
  ])
    t.deepEqual((await run('images', edit(`${url}/a.png`))).json, edit(data));
  t.deepEqual(
    (await run('chat', { ...chat(data), image: `${url}/a.png` })).json,
    { ...chat(data), image: `${url}/a.png` },
    'no member of chats',
  );
  t.deepEqual((await run('chat', chat(data))).json, chat(data));
  t.deepEqual(
    (await run('chat', chat(`${url}/a.png`), { providers: ['bedrock'] })).json,
    chat(`${url}/a.png`),
  );
  for (const [place, name] of [
    ['/page', 'InvalidResponseError'],
    ['/none', 'CallFailedError'],
    ['/big.png', 'CallFailedError'],
  ] as const) {
    const { check, json } = await run('chat', chat(url + place), { maxSizeBytes: 1000 });
    t.is(check?.error?.name, name);
    t.deepEqual(json, chat(url + place));
  }
  t.is((await run('chat', chat('http://169.254.169.254/latest'))).check?.error?.name, 'CallFailedError');
  t.is((await run('chat', chat(`${url}/none`), { failOnError: true })).decision, 'flag');
});
