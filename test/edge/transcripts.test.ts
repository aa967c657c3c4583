// Text from speech: a form that the provider reads while it comes, over REST and gRPC, in every form of answer, priced by
// tokens or by the audio's length.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const AUDIO = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 256));
const PATHS = { transcriptions: '/audio/transcriptions', translations: '/audio/translations' } as const;
type Path = keyof typeof PATHS;
type Members = readonly (readonly [string, string | Blob])[];

const file = ['file', new Blob([AUDIO], { type: 'audio/wav' })] as const;

/** What the provider answers next. */
function says(prefix: string, path: Path, type: string, ...pieces: readonly string[]): void {
  bench.provider.next(`${prefix}${PATHS[path]}`, async (_req, res) => {
    res.writeHead(200, { 'content-type': type });
    for (const piece of pieces) {
      res.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  });
}

function ask(
  prefix: string,
  path: Path,
  members: Members,
  headers: Record<string, string> = {},
): Promise<Response> {
  const body = new FormData();
  for (const [name, value] of members)
    if (typeof value === 'string') body.append(name, value);
    else body.append(name, value, 'a.wav');
  const { 'content-type': _json, ...own } = chatHeaders(bench.provider, WORKSPACE_KEY) as Record<
    string,
    string
  >;
  return fetch(`${bench.gateway.origin}/v1${PATHS[path]}`, {
    method: 'POST',
    headers: Object.entries({
      ...own,
      'x-gateway-custom-host': bench.provider.origin + prefix,
      ...headers,
    }).filter(([, value]) => value !== ''),
    body,
  });
}

/** The form that the provider was sent. */
async function sentForm(prefix: string): Promise<FormData> {
  const [seen] = bench.sentTo(prefix);
  const type = String(seen!.headers['content-type']);
  return new Response(new Uint8Array(seen!.body), { headers: { 'content-type': type } }).formData();
}

test('a form goes on with its members and its bytes, and costs its tokens', async (t) => {
  const prefix = bench.mark();
  const answer = {
    text: 'hello',
    usage: {
      type: 'tokens',
      input_tokens: 14,
      input_token_details: { text_tokens: 0, audio_tokens: 14 },
      output_tokens: 45,
      total_tokens: 59,
    },
  };
  says(prefix, 'transcriptions', 'application/json', JSON.stringify(answer));
  const members: Members = [
    ['model', 'gpt-4o-transcribe'],
    ['temperature', '0.5'],
    ['timestamp_granularities[]', 'word'],
    ['timestamp_granularities[]', 'segment'],
    ['vendor', 'x'],
    file,
  ];
  const got = await ask(prefix, 'transcriptions', members, { 'x-gateway-trace-id': 'stt-1' });
  t.is(got.status, 200);
  t.regex(got.headers.get('content-type')!, /^application\/json/);
  t.deepEqual(await got.json(), answer);
  const form = await sentForm(prefix);
  t.is(form.get('model'), 'gpt-4o-transcribe');
  t.is(form.get('temperature'), '0.5');
  t.is(form.get('vendor'), 'x');
  t.deepEqual(form.getAll('timestamp_granularities[]'), ['word', 'segment']);
  const sent = form.get('file') as File;
  t.is(sent.name, 'a.wav');
  t.is(sent.type, 'audio/wav');
  t.true(Buffer.from(await sent.arrayBuffer()).equals(AUDIO));
  const [entry] = await client.logs('stt-1');
  t.like(entry!.usage, { prompt_tokens: 14, completion_tokens: 45, total_tokens: 59 });
  t.is(entry!.model, 'gpt-4o-transcribe');
});

for (const [name, answer, seconds] of [
  ['usage by seconds', { text: 'hi', usage: { type: 'duration', seconds: 9 } }, 9],
  ['the duration of verbose JSON', { text: 'hi', duration: 2.5, language: 'en', segments: [] }, 2.5],
] as const)
  test(`${name} is charged; a model after the file is in the log`, async (t) => {
    const prefix = bench.mark();
    const id = `stt-${seconds}`;
    says(prefix, 'transcriptions', 'application/json', JSON.stringify(answer));
    const got = await ask(prefix, 'transcriptions', [file, ['model', 'whisper-1']], {
      'x-gateway-trace-id': id,
    });
    t.deepEqual(await got.json(), answer);
    t.is((await sentForm(prefix)).get('model'), 'whisper-1');
    const [entry] = await client.logs(id);
    t.like(entry!, { model: 'whisper-1', usage: { units: { audio_seconds: seconds } } });
  });

test('subtitles come back as text, and without a count the call is unpriced', async (t) => {
  const prefix = bench.mark();
  const text = '1\n00:00:00,000 --> 00:00:01,000\nhi\n\n';
  says(prefix, 'transcriptions', 'text/plain; charset=utf-8', text);
  const got = await ask(
    prefix,
    'transcriptions',
    [['model', 'whisper-1'], ['response_format', 'srt'], file],
    {
      'x-gateway-trace-id': 'stt-srt',
    },
  );
  t.is(got.headers.get('content-type'), 'text/plain; charset=utf-8');
  t.is(await got.text(), text);
  const [entry] = await client.logs('stt-srt');
  t.true(entry!.unpriced as boolean);
});

const EVENTS = [
  'data: {"type":"transcript.text.delta","delta":"hel"}\n\n',
  'data: {"type":"transcript.text.delta","delta":"lo"}\n\n',
  'data: {"type":"transcript.text.done","text":"hello","usage":{"type":"tokens","input_tokens":7,"output_tokens":3,"total_tokens":10}}\n\n',
];

test('the official client: whole, streamed, translated, with the file before the other members', async (t) => {
  const prefix = bench.mark();
  const openai = new OpenAI({
    apiKey: 'sk-provider',
    baseURL: `${bench.gateway.origin}/v1`,
    defaultHeaders: { ...bench.headers(prefix), 'x-gateway-trace-id': 'stt-sdk' },
    maxRetries: 0,
  });
  says(prefix, 'transcriptions', 'application/json', '{"text":"hello"}');
  const whole = await openai.audio.transcriptions.create({
    file: await toFile(AUDIO, 'a.wav'),
    model: 'whisper-1',
  });
  t.is(whole.text, 'hello');
  says(prefix, 'transcriptions', 'text/event-stream', ...EVENTS);
  const types: string[] = [];
  const events = await openai.audio.transcriptions.create({
    file: await toFile(AUDIO, 'a.wav'),
    model: 'gpt-4o-transcribe',
    stream: true,
  });
  for await (const event of events) types.push(event.type);
  t.deepEqual(types, ['transcript.text.delta', 'transcript.text.delta', 'transcript.text.done']);
  says(prefix, 'translations', 'application/json', '{"text":"good day"}');
  const translated = await openai.audio.translations.create({
    file: await toFile(AUDIO, 'a.wav'),
    model: 'whisper-1',
  });
  t.is(translated.text, 'good day');
  const entries = await client.logs('stt-sdk');
  t.true(entries.some(({ usage }) => (usage as { total_tokens?: number } | undefined)?.total_tokens === 10));
});

test('over gRPC: head and bytes in, a message or bytes out', async (t) => {
  const prefix = bench.mark();
  const audio = createClient(AudioService, bench.transports.grpc);
  const messages = async function* () {
    yield { kind: { case: 'head' as const, value: { model: 'whisper-1' } } };
    yield { kind: { case: 'chunk' as const, value: new Uint8Array(AUDIO) } };
  };
  const options = { headers: bench.headers(prefix) };
  says(prefix, 'transcriptions', 'application/json', '{"text":"hello","language":"en"}');
  t.like(await audio.createTranscription(messages(), options), { text: 'hello', language: 'en' });
  says(prefix, 'translations', 'application/json', '{"text":"good day"}');
  t.is((await audio.createTranslation(messages(), options)).text, 'good day');
  says(prefix, 'transcriptions', 'text/event-stream', ...EVENTS);
  const pieces: Uint8Array[] = [];
  for await (const { kind } of audio.streamTranscription(messages(), options))
    if (kind.case === 'chunk') pieces.push(kind.value);
  t.is(Buffer.concat(pieces).toString(), EVENTS.join(''));
});

for (const [path, field, members] of [
  ['transcriptions', 'temperature', [['model', 'm'], ['temperature', '1.1'], file]],
  ['transcriptions', 'response_format', [['model', 'm'], ['response_format', 'xml'], file]],
  ['translations', 'response_format', [['model', 'm'], ['response_format', 'diarized_json'], file]],
  ['transcriptions', 'timestamp_granularities', [['model', 'm'], ['timestamp_granularities[]', 'day'], file]],
  ['transcriptions', 'model', [['model', ''], file]],
  ['transcriptions', 'file', [['model', 'm']]],
  [
    'transcriptions',
    'audio',
    [
      ['model', 'm'],
      ['audio', file[1]],
    ],
  ],
] as const)
  test(`${path}: a wrong ${field} before the file is refused before the call: ${JSON.stringify(members).slice(0, 60)}`, async (t) => {
    const prefix = bench.mark();
    const answer = await ask(prefix, path, members as Members);
    t.is(answer.status, 400);
    const { error } = (await answer.json()) as { error: { param: string } };
    t.regex(error.param, new RegExp(`^${field}`));
    t.is(bench.sentTo(prefix).length, 0);
  });

test("other providers' own values pass", async (t) => {
  const prefix = bench.mark();
  says(prefix, 'transcriptions', 'application/json', '{"text":"hello"}');
  const members: Members = [['model', 'm'], ['response_format', 'own'], file];
  const answer = await ask(prefix, 'transcriptions', members, {
    'x-gateway-provider': 'openai-compatible',
  });
  t.is(answer.status, 200);
  t.is((await sentForm(prefix)).get('response_format'), 'own');
});

for (const [field, members] of [
  ['model', [file]],
  ['model', [['model', 'm'], file, ['model', 'm']]],
  ['temperature', [['model', 'm'], file, ['temperature', '2']]],
  ['response_format', [['model', 'm'], file, ['response_format', 'xml']]],
  ['file', [['model', 'm'], file, file]],
] as const)
  test(`a wrong ${field} after the file ends in a 400, and the provider keeps nothing: ${members.length}`, async (t) => {
    const prefix = bench.mark();
    let whole = false;
    // Called when the provider has read the form to its end.
    bench.provider.next(`${prefix}/audio/transcriptions`, (_req, res) => {
      whole = true;
      res.end('{"text":"kept"}');
    });
    const answer = await ask(prefix, 'transcriptions', members as Members);
    t.is(answer.status, 400);
    const { error } = (await answer.json()) as { error: { param: string } };
    t.is(error.param, field);
    t.false(whole);
  });

test('a form without its end is a 400', async (t) => {
  const prefix = bench.mark();
  const { 'content-type': _json, ...own } = chatHeaders(bench.provider, WORKSPACE_KEY) as Record<
    string,
    string
  >;
  const answer = await fetch(`${bench.gateway.origin}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: {
      ...own,
      'x-gateway-custom-host': bench.provider.origin + prefix,
      'content-type': 'multipart/form-data; boundary=b',
    },
    body: '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhalf',
  });
  t.is(answer.status, 400);
  const { error } = (await answer.json()) as { error: { code: string } };
  t.is(error.code, 'malformed_body');
});

test('the provider reads while the client still sends', async (t) => {
  const begun = Promise.withResolvers<void>();
  const provider = http.createServer((req, res) => {
    let read = 0;
    req.on('data', (piece: Buffer) => {
      read += piece.length;
      if (read > 50_000) begun.resolve();
    });
    req.once('end', () => res.writeHead(200, { 'content-type': 'application/json' }).end('{"text":"hello"}'));
  });
  await new Promise<void>((resolve) => provider.listen(0, '127.0.0.1', resolve));
  t.teardown(() => {
    provider.closeAllConnections();
    provider.close();
  });
  const { 'content-type': _json, ...own } = chatHeaders(bench.provider, WORKSPACE_KEY) as Record<
    string,
    string
  >;
  const req = http.request(`${bench.gateway.origin}/v1/audio/transcriptions`, {
    method: 'POST',
    headers: {
      ...own,
      'x-gateway-custom-host': `http://127.0.0.1:${(provider.address() as AddressInfo).port}`,
      'content-type': 'multipart/form-data; boundary=b',
    },
  });
  const answered = new Promise<http.IncomingMessage>((resolve, reject) =>
    req.once('response', resolve).once('error', reject),
  );
  req.write(
    '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm\r\n--b\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\n',
  );
  req.write(Buffer.alloc(100_000, 1));
  await begun.promise;
  req.end('\r\n--b--\r\n');
  const answer = await answered;
  t.is(answer.statusCode, 200);
  answer.resume();
});

const NONE = { 'x-gateway-provider': '', 'x-gateway-custom-host': '', authorization: '' };
const configOf = (prefix: string, more: object): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: bench.provider.origin + prefix,
    ...more,
  }),
  ...NONE,
});

for (const [kind, type, body] of [
  ['JSON', 'application/json', '{"text":"a secret","words":[{"word":"secret"}]}'],
  ['text', 'text/plain', 'a secret'],
  ['events', 'text/event-stream', 'data: {"type":"transcript.text.done","text":"a secret"}\n\n'],
] as const)
  test(`guardrails read the transcript: ${kind}`, async (t) => {
    const prefix = bench.mark();
    says(prefix, 'transcriptions', type, body);
    const denied = await ask(
      prefix,
      'transcriptions',
      [['model', 'm'], file],
      configOf(prefix, {
        output_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }],
      }),
    );
    const told = await denied.text();
    t.is(denied.status, 446, told);
    says(prefix, 'transcriptions', type, body);
    const passed = await ask(
      prefix,
      'transcriptions',
      [['model', 'm'], file],
      configOf(prefix, {
        output_guardrails: [{ 'default.contains': { words: ['other'], operator: 'none' }, deny: true }],
      }),
    );
    t.is(passed.status, 200);
    t.regex(await passed.text(), /a secret/);
  });

test('guardrails read the prompt, which must stand before the file', async (t) => {
  const prefix = bench.mark();
  const headers = configOf(prefix, {
    input_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }],
  });
  const before: Members = [['model', 'm'], ['prompt', 'a secret'], file];
  t.is((await ask(prefix, 'transcriptions', before, headers)).status, 446);
  const after: Members = [['model', 'm'], file, ['prompt', 'a secret']];
  t.is((await ask(prefix, 'transcriptions', after, headers)).status, 400);
});

test('a plan that calls again sends the same form again', async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/audio/transcriptions`, (_req, res) => {
    res.writeHead(503, { 'content-type': 'application/json' }).end('{}');
  });
  says(prefix, 'transcriptions', 'application/json', '{"text":"hello"}');
  const target = {
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: bench.provider.origin + prefix,
  };
  const config = { strategy: { mode: 'fallback' }, targets: [target, target] };
  const answer = await ask(prefix, 'transcriptions', [file, ['model', 'm']], {
    'x-gateway-config': JSON.stringify(config),
    ...NONE,
  });
  t.is(answer.status, 200);
  t.deepEqual(await answer.json(), { text: 'hello' });
  t.is(bench.sentTo(prefix).length, 2);
});
