// Speech: the provider's bytes as they come, over REST and gRPC, at the price of characters or of the tokens that it counts.
import { createClient } from '@connectrpc/connect';
import test from 'ava';
import OpenAI from 'openai';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
});
test.after.always(() => bench?.close());

const AUDIO = Buffer.from(Array.from({ length: 5000 }, (_, i) => i % 256));
const ASKED = { model: 'tts-1', input: 'hellö', voice: 'alloy' };

/** What the provider answers next. */
function says(prefix: string, type: string, ...pieces: readonly (Buffer | string)[]): void {
  bench.provider.next(`${prefix}/audio/speech`, async (_req, res) => {
    res.writeHead(200, { 'content-type': type });
    for (const piece of pieces) {
      res.write(piece);
      await new Promise((resolve) => setImmediate(resolve));
    }
    res.end();
  });
}

/** Headers that a config says in their place. */
const NONE = { 'x-gateway-provider': '', 'x-gateway-custom-host': '', authorization: '' };

const ask = (prefix: string, body: Json, headers: Record<string, string> = {}): Promise<Response> =>
  fetch(`${bench.gateway.origin}/v1/audio/speech`, {
    method: 'POST',
    headers: Object.entries({
      ...chatHeaders(bench.provider, WORKSPACE_KEY),
      'x-gateway-custom-host': bench.provider.origin + prefix,
      ...headers,
    }).filter(([, value]) => value !== ''),
    body: JSON.stringify(body),
  });

test('audio comes back byte for byte under its type, and costs its characters', async (t) => {
  const prefix = bench.mark();
  says(prefix, 'audio/mpeg', AUDIO.subarray(0, 1000), AUDIO.subarray(1000));
  const answer = await ask(prefix, { ...ASKED, speed: 1.5, vendor: 1 }, { 'x-gateway-trace-id': 'speech-1' });
  t.is(answer.status, 200);
  t.is(answer.headers.get('content-type'), 'audio/mpeg');
  // Bytes of others are no page of the gateway's origin.
  t.is(answer.headers.get('content-security-policy'), 'sandbox');
  t.true(Buffer.from(await answer.arrayBuffer()).equals(AUDIO));
  t.deepEqual(JSON.parse(bench.sentTo(prefix)[0]!.body.toString()), { ...ASKED, speed: 1.5, vendor: 1 });
  const [entry] = await client.logs('speech-1');
  t.is(entry!.cost_exact, String(5n * 15_000_000n));
  t.like(entry!.usage, { units: { characters: 5 } });
});

test('events of speech go on as they come, and their usage is in the books', async (t) => {
  const prefix = bench.mark();
  const events = [
    'data: {"type":"speech.audio.delta","audio":"AAAA"}\n\n',
    'data: {"type":"speech.audio.done","usage":{"input_tokens":14,"output_tokens":101,"total_tokens":115}}\n\n',
  ];
  says(prefix, 'text/event-stream', ...events);
  const answer = await ask(
    prefix,
    { ...ASKED, model: 'gpt-4o-mini-tts', stream_format: 'sse' },
    { 'x-gateway-trace-id': 'speech-2' },
  );
  t.is(answer.headers.get('content-type'), 'text/event-stream');
  t.is(await answer.text(), events.join(''));
  const [entry] = await client.logs('speech-2');
  t.like(entry!.usage, { prompt_tokens: 14, completion_tokens: 101, total_tokens: 115 });
});

test('over gRPC: the head, then the bytes', async (t) => {
  const prefix = bench.mark();
  says(prefix, 'audio/ogg', AUDIO);
  const audio = createClient(AudioService, bench.transports.grpc);
  const pieces: Uint8Array[] = [];
  let type = '';
  const request = { model: 'tts-1', input: 'hi', voice: { kind: { case: 'name' as const, value: 'alloy' } } };
  for await (const { kind } of audio.createSpeech(request, { headers: bench.headers(prefix) })) {
    if (kind.case === 'head') type = kind.value.contentType;
    else if (kind.case === 'chunk') pieces.push(kind.value);
  }
  t.is(type, 'audio/ogg');
  t.true(Buffer.concat(pieces).equals(AUDIO));
});

test('audio in base64 becomes bytes', async (t) => {
  const prefix = bench.mark();
  says(prefix, 'application/json', JSON.stringify({ audio: AUDIO.toString('base64') }));
  const answer = await ask(prefix, { ...ASKED, response_format: 'wav' });
  t.is(answer.headers.get('content-type'), 'audio/wav');
  t.true(Buffer.from(await answer.arrayBuffer()).equals(AUDIO));
});

test("the provider's error keeps its status", async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/audio/speech`, (_req, res) => {
    res.writeHead(429, { 'content-type': 'application/json', 'retry-after': '3' });
    res.end(JSON.stringify({ error: { message: 'slow down' } }));
  });
  const answer = await ask(prefix, ASKED);
  t.is(answer.status, 429);
  t.is(answer.headers.get('retry-after'), '3');
});

for (const [field, change] of [
  ['input', { input: '' }],
  ['input', { input: 'x'.repeat(4097) }],
  ['speed', { speed: 0.2 }],
  ['speed', { speed: 4.1 }],
  ['response_format', { response_format: 'midi' }],
  ['stream_format', { stream_format: 'grpc' }],
  ['voice', { voice: undefined }],
  ['model', { model: '' }],
] as const)
  test(`${field} ${JSON.stringify(change).slice(0, 40)} is refused before the call`, async (t) => {
    const prefix = bench.mark();
    const answer = await ask(prefix, { ...ASKED, ...change });
    t.is(answer.status, 400);
    const { error } = (await answer.json()) as { error: { param: string } };
    t.is(error.param, field);
    t.is(bench.sentTo(prefix).length, 0);
  });

test('guardrails see what is spoken', async (t) => {
  const prefix = bench.mark();
  const config = {
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: bench.provider.origin + prefix,
    input_guardrails: [{ 'default.contains': { words: ['secret'], operator: 'none' }, deny: true }],
  };
  const answer = await ask(
    prefix,
    { ...ASKED, input: 'a secret' },
    { 'x-gateway-config': JSON.stringify(config), ...NONE },
  );
  t.is(answer.status, 446);
  t.is(bench.sentTo(prefix).length, 0);
});

test('speech is cached by explicit config only', async (t) => {
  const prefix = bench.mark();
  const config = {
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: bench.provider.origin + prefix,
    cache: { mode: 'simple' },
  };
  const headers = { 'x-gateway-config': JSON.stringify(config), ...NONE };
  says(prefix, 'audio/mpeg', AUDIO);
  for (let i = 0; i < 2; i++) {
    const answer = await ask(prefix, ASKED, headers);
    t.is(answer.status, 200);
    t.true(Buffer.from(await answer.arrayBuffer()).equals(AUDIO));
    t.is(answer.headers.get('content-type'), 'audio/mpeg');
  }
  t.is(bench.sentTo(prefix).length, 1);
});

test('voices are listed in the shape of the provider, and the official client speaks', async (t) => {
  const prefix = bench.mark();
  bench.provider.next(`${prefix}/audio/voices`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'application/json' });
    res.end(JSON.stringify({ object: 'list', data: [{ id: 'v1', name: 'Ann' }], total: 1 }));
  });
  const listed = await fetch(`${bench.gateway.origin}/v1/audio/voices?limit=5`, {
    headers: bench.headers(prefix),
  });
  t.deepEqual(await listed.json(), { object: 'list', data: [{ id: 'v1', name: 'Ann' }], total: 1 });
  t.is(bench.sentTo(prefix)[0]!.url, `${prefix}/audio/voices?limit=5`);
  const openai = new OpenAI({
    apiKey: 'sk-provider',
    baseURL: `${bench.gateway.origin}/v1`,
    defaultHeaders: bench.headers(prefix),
  });
  says(prefix, 'audio/mpeg', AUDIO);
  const speech = await openai.audio.speech.create({ ...ASKED, voice: 'alloy' });
  t.true(Buffer.from(await speech.arrayBuffer()).equals(AUDIO));
  bench.provider.next(`${prefix}/images/generations`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const type of ['image_generation.partial_image', 'image_generation.completed'])
      res.write(`event: ${type}\ndata: ${JSON.stringify({ type, b64_json: 'AAAA' })}\n\n`);
    res.end();
  });
  const types: string[] = [];
  const events = await openai.images.generate({
    model: 'gpt-image-1',
    prompt: 'a lamp',
    stream: true,
    partial_images: 1,
  });
  for await (const event of events) types.push(event.type);
  t.deepEqual(types, ['image_generation.partial_image', 'image_generation.completed']);
});
