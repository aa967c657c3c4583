// Pass-through under mandatory guardrails and restrictions of models: what can be read is judged, what cannot be read is
// refused; a stored provider that a body names is the one that is called.
import zlib from 'node:zlib';
import test from 'ava';
import { type Bench, raw, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { type LimitsClient, limitsClient } from '../support/limits-client.ts';

type Json = Record<string, unknown>;
const KEY = 'sk-kept-by-the-gateway-0123456789';
const MODES = ['govern', 'allow', 'deny'] as const;
type Mode = (typeof MODES)[number];

interface Place {
  readonly bench: Bench;
  readonly client: LimitsClient;
  /** Keys of workspaces: one without guardrails, one that looks at requests, one that looks at answers. */
  readonly keys: Readonly<Record<'free' | 'asked' | 'answered' | 'writes', string>>;
}

const places = new Map<Mode, Place>();
test.before(async () => {
  for (const mode of MODES) places.set(mode, await open(mode));
});
test.after.always(async () => {
  for (const { bench } of places.values()) await bench.close();
});

async function open(mode: Mode): Promise<Place> {
  const bench = await startBench({ GATEWAY_RAW_PATHS: mode, GATEWAY_BODY_LIMIT: '64KiB' });
  const client = limitsClient(bench.gateway, bench.provider);
  const { admin } = client;
  const guardrail = async (name: string, checks: Json[], actions: Json) =>
    String((await admin('POST', '/guardrails', { name, checks, actions })).id);
  const words = [{ id: 'default.contains', parameters: { words: ['forbidden'], operator: 'none' } }];
  const denies = await guardrail('no forbidden words', words, { deny: true });
  const writes = await guardrail(
    'masks',
    [{ id: 'default.regexReplace', parameters: { rule: 'secret-\\d+', redactText: '[masked]' } }],
    { deny: false },
  );
  const workspace = async (slug: string, defaults: Json | undefined) => {
    await admin('POST', '/admin/workspaces', { name: slug, slug });
    if (defaults !== undefined) await admin('PUT', `/admin/workspaces/${slug}`, { defaults });
    const made = await admin('POST', '/api-keys/workspace/service', {
      name: slug,
      workspace_id: slug,
      scopes: ['completions.write'],
    });
    return String(made.key);
  };
  const keys = {
    free: WORKSPACE_KEY,
    asked: await workspace('asked', { input_guardrails: [denies] }),
    answered: await workspace('answered', { output_guardrails: [denies] }),
    writes: await workspace('writes', { input_guardrails: [writes] }),
  };
  for (const [slug, models] of [
    ['wide', undefined],
    ['narrow', ['gpt-ok', 'gemini-ok', 'anthropic.claude-ok']],
  ] as const) {
    const configurations = { custom_host: `${bench.provider.origin}/${slug}` };
    await admin('POST', '/integrations', {
      name: slug,
      slug,
      ai_provider_id: 'openai',
      key: KEY,
      configurations,
    });
    await admin('PUT', `/integrations/${slug}/workspaces`, {
      workspaces: [{ id: 'default', enabled: true }],
    });
    if (models !== undefined)
      await admin('PUT', `/integrations/${slug}/models`, {
        allow_all_models: false,
        models: models.map((name) => ({ slug: name, enabled: true, is_custom: true })),
      });
  }
  return { bench, client, keys };
}

interface Sent {
  readonly mode?: Mode;
  readonly key?: keyof Place['keys'];
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly answer?: unknown;
  readonly answerType?: string;
  /** A stored provider, named by the header. */
  readonly slug?: string;
}

/** One call. `sent` is what the provider got. */
async function send(path: string, { mode = 'govern', key = 'free', ...given }: Sent) {
  const { bench, keys } = places.get(mode)!;
  const mark = bench.mark();
  const plain = path.replace(/^\/proxy/, '');
  const [at] = plain.split('?');
  const prefix = given.slug === undefined ? mark : `/${given.slug}`;
  const { answer = { fine: true } } = given;
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  const before = bench.provider.seen.length;
  bench.provider.next(prefix + at!, (_req, res) => {
    res.writeHead(200, { 'content-type': given.answerType ?? 'application/json' }).end(text);
  });
  const base = bench.headers(mark);
  const selected: Record<string, string> =
    given.slug === undefined ? base : { 'x-gateway-api-key': '', 'x-gateway-provider': `@${given.slug}` };
  const { body } = given;
  const headers = {
    ...selected,
    'content-type': 'application/json',
    ...given.headers,
    'x-gateway-api-key': keys[key],
  };
  const response = await raw(bench.gateway.origin, {
    method: given.method ?? 'POST',
    path: `/v1${path}`,
    headers,
    ...(body === undefined
      ? {}
      : { body: typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body) }),
  });
  const sent = bench.provider.seen.slice(before).filter(({ url }) => url.startsWith(prefix + at!));
  return { response, sent, text, status: response.status };
}

const user = (text: string): Json => ({ role: 'user', content: text });
const FORMS: readonly (readonly [path: string, body: (text: string) => Json])[] = [
  ['/proxy/chat/completions', (text) => ({ model: 'gpt-ok', messages: [user(text)] })],
  ['/proxy/v1/responses', (text) => ({ model: 'gpt-ok', input: text })],
  ['/proxy/responses', (text) => ({ model: 'gpt-ok', input: [user(text)] })],
  ['/proxy/messages', (text) => ({ model: 'gpt-ok', messages: [user(text)] })],
  [
    '/proxy/messages/count_tokens',
    (text) => ({ model: 'gpt-ok', system: [{ type: 'text', text }], messages: [] }),
  ],
  ['/proxy/completions', (text) => ({ model: 'gpt-ok', prompt: text })],
  ['/proxy/embeddings', (text) => ({ model: 'gpt-ok', input: ['a', text] })],
  ['/proxy/models/gemini-ok:generateContent', (text) => ({ contents: [{ parts: [{ text }] }] })],
  [
    '/proxy/v1beta/models/gemini-ok:streamGenerateContent?alt=sse',
    (text) => ({ contents: [], system_instruction: { parts: [{ text }] } }),
  ],
  [
    '/proxy/model/anthropic.claude-ok/converse',
    (text) => ({ messages: [{ role: 'user', content: [{ text }] }] }),
  ],
  [
    '/proxy/model/anthropic.claude-ok/converse-stream',
    (text) => ({
      messages: [{ role: 'user', content: [{ toolResult: { content: [{ json: { text } }] } }] }],
    }),
  ],
  ['/proxy/model/anthropic.claude-ok/invoke', (text) => ({ anthropic_version: 'x', messages: [user(text)] })],
  ['/proxy/images/generations', (text) => ({ model: 'gpt-ok', prompt: text })],
];

test.serial('a mandatory guardrail looks at every known form', async (t) => {
  for (const [path, body] of FORMS) {
    const denied = await send(path, { key: 'asked', body: body('a forbidden word') });
    t.is(denied.status, 446, path);
    t.truthy(denied.response.json.hook_results);
    t.is(denied.sent.length, 0, path);
    const passed = await send(path, { key: 'asked', body: body('a fine word') });
    t.is(passed.status, 200, path);
    t.is(passed.sent[0]!.body.toString(), JSON.stringify(body('a fine word')));
    t.is(passed.response.text, passed.text);
  }
});

const PLACES: readonly (readonly [path: string, body: (text: string) => Json])[] = [
  ...['/messages', '/proxy/messages'].map(
    (path) =>
      [
        path,
        (text: string): Json => ({
          model: 'gpt-ok',
          max_tokens: 9,
          messages: [
            {
              role: 'user',
              content: [
                { type: 'search_result', source: 'x', title: 't', content: [{ type: 'text', text }] },
                { type: 'text', text: 'hi' },
              ],
            },
          ],
        }),
      ] as const,
  ),
  ...['/responses', '/proxy/responses'].map(
    (path) =>
      [
        path,
        (text: string): Json => ({
          model: 'gpt-ok',
          input: [{ type: 'shell_call_output', call_id: 'c', output: [{ stdout: text, stderr: '' }] }],
        }),
      ] as const,
  ),
  ['/proxy/rerank', (text) => ({ model: 'gpt-ok', query: 'q', documents: [{ title: text }] })],
  ['/proxy/embeddings', (text) => ({ model: 'gpt-ok', input: 'x', messages: [user(text)] })],
];

test.serial('what tools and searches found is looked at, wherever it stands', async (t) => {
  for (const [path, body] of PLACES) {
    const { status, sent } = await send(path, { key: 'asked', body: body('a forbidden word') });
    t.is(status, 446, path);
    t.is(sent.length, 0, path);
  }
});

const multipart = '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\nforbidden\r\n--b--\r\n';
const said = { model: 'gpt-ok', messages: [user('forbidden')] };
const UNREAD: readonly (readonly [name: string, path: string, given: Sent])[] = [
  ['a path of no known form', '/any/path', { body: said }],
  ['a thread of messages', '/threads/t1/messages', { body: { role: 'user', content: 'forbidden' } }],
  [
    'a form',
    '/proxy/images/edits',
    { body: multipart, headers: { 'content-type': 'multipart/form-data; boundary=b' } },
  ],
  ['a decoy of another form', '/proxy/responses', { body: { ...said, messages: [user('fine')] } }],
  [
    'a decoy beside the input',
    '/proxy/chat/completions',
    { body: { ...said, messages: [user('fine')], prompt: 'forbidden' } },
  ],
  ['a stored prompt', '/proxy/responses', { body: { model: 'gpt-ok', input: 'hi', prompt: { id: 'p' } } }],
  [
    'doubled members',
    '/proxy/chat/completions',
    { body: '{"model":"gpt-ok","messages":[{"role":"user","content":"forbidden"}],"messages":[]}' },
  ],
  [
    'escaped members',
    '/proxy/chat/completions',
    { body: '{"model":"gpt-ok","messages":[],"mess\\u0061ges":[{"content":"forbidden"}]}' },
  ],
  ['UTF-16', '/proxy/chat/completions', { body: Buffer.from(JSON.stringify(said), 'utf16le') }],
  ['a body that is no JSON', '/proxy/chat/completions', { body: 'messages=forbidden' }],
  ['a list', '/proxy/chat/completions', { body: [said] }],
  ['an encoded slash', '/proxy/chat%2Fcompletions', { body: said }],
  ['an encoded letter', '/proxy/ch%61t/completions', { body: said }],
  ['two slashes', '/proxy//chat/completions', { body: said }],
  ['dots', '/proxy/v1/..%2fchat/completions', { body: said }],
  [
    'an unknown coding',
    '/proxy/chat/completions',
    { body: JSON.stringify(said), headers: { 'content-encoding': 'lzma' } },
  ],
  ['a body over the limit', '/proxy/chat/completions', { body: { ...said, pad: 'x'.repeat(70_000) } }],
  [
    'a compressed body over the limit',
    '/proxy/chat/completions',
    {
      body: zlib.gzipSync(JSON.stringify({ ...said, pad: 'x'.repeat(70_000) })),
      headers: { 'content-encoding': 'gzip' },
    },
  ],
];

test.serial('what cannot be read is refused where a guardrail is mandatory, and says why', async (t) => {
  for (const [name, path, given] of UNREAD) {
    for (const key of ['asked', 'answered'] as const) {
      const { response, sent, status } = await send(path, { ...given, key });
      t.true(status === 403 || (status === 400 && name === 'dots'), `${name}: ${status} ${response.text}`);
      t.is(sent.length, 0, name);
      if (status === 403)
        t.regex(String((response.json.error as Json).message), /must see every.*GATEWAY_RAW_PATHS/);
    }
    if (name === 'dots' || name === 'two slashes') continue;
    const free = await send(path, given);
    t.is(free.status, 200, `${name}: ${free.response.text}`);
    const allowed = await send(path, { ...given, key: 'asked', mode: 'allow' });
    t.is(allowed.status, 200, `${name}: ${allowed.response.text}`);
  }
});

test.serial('the body decides, whatever type it says to be and however it is compressed', async (t) => {
  const text = JSON.stringify(said);
  for (const [headers, body] of [
    [{ 'content-type': 'text/plain' }, text],
    [{ 'content-type': 'multipart/form-data; boundary=b' }, text],
    [{ 'content-type': 'application/octet-stream' }, `\n\t ${text}`],
    [{ 'content-encoding': 'gzip' }, zlib.gzipSync(text)],
    [{ 'content-encoding': 'br' }, zlib.brotliCompressSync(text)],
    [{ 'content-encoding': 'gzip, br' }, zlib.brotliCompressSync(zlib.gzipSync(text))],
  ] as const) {
    const { status, sent } = await send('/proxy/chat/completions', { key: 'asked', headers, body });
    t.is(status, 446, JSON.stringify(headers));
    t.is(sent.length, 0);
  }
});

test.serial(
  'requests without a body pass, and with `allow` what is readable is still looked at',
  async (t) => {
    for (const method of ['GET', 'DELETE'])
      t.is((await send('/files/f1', { key: 'asked', method })).status, 200);
    t.is((await send('/batches/b1/cancel', { key: 'asked' })).status, 200);
    t.is((await send('/proxy/chat/completions', { key: 'asked', mode: 'allow', body: said })).status, 446);
  },
);

test.serial('with `deny` nothing is passed through', async (t) => {
  for (const [path, method] of [
    ['/things', 'GET'],
    ['/any', 'POST'],
    ['/proxy/chat/completions', 'POST'],
  ] as const) {
    const { status, sent, response } = await send(path, {
      mode: 'deny',
      method,
      ...(method === 'POST' ? { body: said } : {}),
    });
    t.is(status, 403);
    t.regex(String((response.json.error as Json).message), /GATEWAY_RAW_PATHS/);
    t.is(sent.length, 0);
  }
});

test.serial('a guardrail that writes changes what is sent, and nothing else', async (t) => {
  const body = (text: string): Json => ({ model: 'gpt-ok', input: text, temperature: 0.5 });
  const { sent, status } = await send('/proxy/responses', { key: 'writes', body: body('my secret-12') });
  t.is(status, 200);
  t.deepEqual(JSON.parse(sent[0]!.body.toString()), body('my [masked]'));
  t.is(sent[0]!.headers['content-length'], String(sent[0]!.body.length));
  const same = await send('/proxy/responses', { key: 'writes', body: ` ${JSON.stringify(body('hi'))}\n` });
  t.is(same.sent[0]!.body.toString(), ` ${JSON.stringify(body('hi'))}\n`);
});

const ANSWERS: readonly (readonly [path: string, body: Json, answer: (text: string) => Json])[] = [
  ['/proxy/chat/completions', { messages: [] }, (text) => ({ choices: [{ message: { content: text } }] })],
  [
    '/proxy/responses',
    { input: 'x' },
    (text) => ({ output: [{ type: 'message', content: [{ type: 'output_text', text }] }] }),
  ],
  ['/proxy/messages', { messages: [] }, (text) => ({ content: [{ type: 'text', text }] })],
  [
    '/proxy/models/m:generateContent',
    { contents: [] },
    (text) => ({ candidates: [{ content: { parts: [{ text }] } }] }),
  ],
  ['/proxy/model/m/converse', { messages: [] }, (text) => ({ output: { message: { content: [{ text }] } } })],
];

test.serial(
  'a mandatory guardrail of answers looks at whole answers, and refuses what it cannot see',
  async (t) => {
    for (const [path, body, answer] of ANSWERS) {
      const denied = await send(path, { key: 'answered', body, answer: answer('forbidden') });
      t.is(denied.status, 446, path);
      t.not(denied.response.text, denied.text);
      const passed = await send(path, {
        key: 'answered',
        body,
        answer: `${JSON.stringify(answer('fine'))} `,
      });
      t.is(passed.status, 200, passed.response.text);
      t.is(passed.response.text, passed.text, 'the same bytes');
      const garbage = await send(path, {
        key: 'answered',
        body,
        answer: 'forbidden',
        answerType: 'text/plain',
      });
      t.is(garbage.status, 403);
      t.not(garbage.response.text, garbage.text);
      const unasked = await send(path, {
        key: 'answered',
        body,
        answer: 'data: forbidden\n\n',
        answerType: 'text/event-stream',
      });
      t.is(unasked.status, 403);
    }
    const kept = await send('/proxy/responses/r1', {
      key: 'answered',
      method: 'GET',
      answer: ANSWERS[1]![2]('forbidden'),
    });
    t.is(kept.status, 446);
  },
);

test.serial('a restriction of models holds on every path', async (t) => {
  const narrow = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    send(path, { slug: 'narrow', body, headers });
  for (const [path, body] of FORMS) {
    const allowed = await narrow(path, body('hi'));
    t.is(allowed.status, 200, `${path}: ${allowed.response.text}`);
    const other = { ...body('hi'), ...(body('').model === undefined ? {} : { model: 'gpt-5' }) };
    const refused = await narrow(path.replace(/gemini-ok|claude-ok/, 'claude-no'), other);
    t.is(refused.status, 403, path);
    // Anthropic's form of errors names the member in its message.
    t.regex(String((refused.response.json.error as Json).message), /^model: /, path);
    t.is(refused.sent.length, 0);
  }
  const chat = '/proxy/chat/completions';
  for (const [name, path, body] of [
    ['no model', chat, { messages: [] }],
    ['a fallback of the provider', chat, { model: 'gpt-ok', models: ['gpt-5'], messages: [] }],
    ['the query', `${chat}?model=gpt-5`, { model: 'gpt-ok', messages: [] }],
    [
      'a deployment in the path',
      '/openai/deployments/gpt-5/chat/completions',
      { model: 'gpt-ok', messages: [] },
    ],
    ['a path of no known form', '/any', { model: 'gpt-ok' }],
    ['a form', '/proxy/audio/transcriptions', multipart],
    ['a number for a model', chat, { model: 5, messages: [] }],
  ] as const) {
    const { status, sent } = await narrow(path, body);
    t.is(status, 403, name);
    t.is(sent.length, 0, name);
  }
  for (const body of [
    '{"model":"gpt-ok","model":"gpt-5","messages":[]}',
    '{"model":"gpt-5","mod\\u0065l":"gpt-ok","messages":[]}',
  ]) {
    const { status, sent } = await narrow(chat, body);
    t.is(status, 400);
    t.is(sent.length, 0);
  }
});

test.serial(
  '@slug/model in a body selects the stored provider on every path, and no other byte changes',
  async (t) => {
    const { bench } = places.get('govern')!;
    const text = (model: string): string =>
      `{ "a" : [1,  2.50],\n"m\\u006fdel" : ${JSON.stringify(model)} ,"input":"\\u00e9 ü"}`;
    for (const [path, encode, headers] of [
      ['/any/path', (one: string) => one, {}],
      ['/proxy/responses', (one: string) => one, { 'content-type': 'text/plain' }],
      ['/proxy/embeddings', (one: string) => zlib.gzipSync(one), { 'content-encoding': 'gzip' }],
    ] as const) {
      const before = bench.provider.seen.length;
      bench.provider.next(`/wide${path.replace('/proxy', '')}`, (_req, res) => void res.end('ok'));
      const { 'x-gateway-api-key': key } = bench.headers('');
      const response = await raw(bench.gateway.origin, {
        method: 'POST',
        path: `/v1${path}`,
        headers: { 'x-gateway-api-key': key!, 'content-type': 'application/json', ...headers },
        body: encode(text('@wide/org/gpt-x')),
      });
      t.is(response.status, 200, response.text);
      const [sent] = bench.provider.seen.slice(before);
      t.is(sent!.body.toString(), text('org/gpt-x'));
      t.is(sent!.headers.authorization, `Bearer ${KEY}`);
      t.is(sent!.headers['content-encoding'], undefined);
      t.is(sent!.headers['content-length'], String(sent!.body.length));
    }
  },
);

test.serial('a stored provider may be stricter than the gateway, and never more lenient', async (t) => {
  for (const [mode, set, status] of [
    ['allow', 'deny', 403],
    ['govern', 'deny', 403],
    ['allow', null, 200],
    ['deny', 'govern', 403],
  ] as const) {
    const { client } = places.get(mode)!;
    await client.admin('PUT', '/providers/wide?workspace_id=default', { raw_paths: set });
    const shown = await client.admin('GET', '/providers/wide?workspace_id=default');
    t.is(shown.raw_paths, set);
    const answer = await send('/any/path', { mode, slug: 'wide', body: { model: 'gpt' } });
    t.is(answer.status, status, `${mode} ${set}`);
    t.is(answer.sent.length, status === 200 ? 1 : 0);
    await client.admin('PUT', '/providers/wide?workspace_id=default', { raw_paths: null });
  }
  const { client } = places.get('govern')!;
  const bad = client.admin('PUT', '/providers/wide?workspace_id=default', { raw_paths: 'allow' });
  await t.throwsAsync(bad, { message: /raw_paths/ });
});

test.serial('@slug/model that cannot be resolved is refused', async (t) => {
  const { bench } = places.get('govern')!;
  const post = (body: string, headers: Record<string, string> = {}) =>
    raw(bench.gateway.origin, {
      method: 'POST',
      path: '/v1/any',
      headers: { 'x-gateway-api-key': WORKSPACE_KEY, 'content-type': 'application/json', ...headers },
      body,
    });
  const before = bench.provider.seen.length;
  const unknown = await post('{"model":"@nobody/gpt"}');
  t.is(unknown.status, 400);
  t.is((unknown.json.error as Json).code, 'provider_unknown');
  const long = await post(`{"pad":"${'x'.repeat(70_000)}","model":"@wide/gpt"}`);
  t.is(long.status, 413);
  const early = await post(`{"model":"@wide/gpt","pad":"${'x'.repeat(70_000)}"}`);
  t.is(early.status, 413);
  const other = await post('{"model":"@wide/gpt"}', { 'x-gateway-provider': '@narrow' });
  t.is(other.status, 400);
  t.is((other.json.error as Json).code, 'selection_conflict');
  const twice = await post('{"model":"@wide/gpt","model":"@narrow/gpt-ok"}');
  t.is(twice.status, 400);
  t.is(bench.provider.seen.length, before);
  bench.provider.next('/wide/any', (_req, res) => void res.end('ok'));
  const same = await post('{"model":"@wide/gpt"}', { 'x-gateway-provider': '@wide' });
  t.is(same.status, 200);
  t.is(bench.provider.seen.at(-1)!.body.toString(), '{"model":"gpt"}');
});
