// The stages around images, speech and embeddings: answers are cached by explicit config only, images only with a seed;
// guardrails that read images see those of chats and of edits.
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { createClient } from '@connectrpc/connect';
import test from 'ava';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';

type Json = { readonly [name: string]: unknown };

const PNG = Buffer.from('no image, but bytes');
const AS_DATA = `data:image/png;base64,${PNG.toString('base64')}`;

let bench: Bench;
let outside: http.Server;
/** What webhooks were sent, by their path. */
const told = new Map<string, Json>();

test.before(async () => {
  outside = http.createServer((req, res) => {
    const { url = '' } = req;
    if (url.endsWith('.png')) return void res.writeHead(200, { 'content-type': 'image/png' }).end(PNG);
    const chunks: Buffer[] = [];
    req.on('data', (chunk: Buffer) => chunks.push(chunk));
    req.on('end', () => {
      told.set(url, JSON.parse(Buffer.concat(chunks).toString()) as Json);
      res.end(JSON.stringify({ verdict: !url.startsWith('/no') }));
    });
  });
  await new Promise<void>((resolve) => outside.listen(0, '127.0.0.1', resolve));
  bench = await startBench();
});
test.after.always(async () => {
  outside?.close();
  outside?.closeAllConnections();
  await bench?.close();
});

const origin = (): string => `http://127.0.0.1:${(outside.address() as AddressInfo).port}`;

const headersOf = (prefix: string, config: Json): Record<string, string> => ({
  'x-gateway-api-key': WORKSPACE_KEY,
  'x-gateway-config': JSON.stringify({
    provider: 'openai',
    api_key: 'sk-provider',
    custom_host: bench.provider.origin + prefix,
    ...config,
  }),
});

async function ask(prefix: string, path: string, body: Json, config: Json) {
  const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headersOf(prefix, config) },
    body: JSON.stringify(body),
  });
  return {
    status: answer.status,
    cache: answer.headers.get('x-gateway-cache-status'),
    text: Buffer.from(await answer.arrayBuffer()).toString('base64'),
  };
}

const SIMPLE = { cache: { mode: 'simple' } };
const SPEECH = { model: 'tts-1', input: 'hello', voice: 'alloy' };
const IMAGE = { model: 'dall-e-2', prompt: 'a lamp' };
const STREAMED = { model: 'gpt-image-1', prompt: 'a lamp', stream: true };

for (const [name, path, body, config] of [
  ['embeddings', '/embeddings', { model: 'embed-1', input: ['a', 'b'] }, SIMPLE],
  ['images with a seed', '/images/generations', { ...IMAGE, seed: 7 }, SIMPLE],
  ['images with the seed 0', '/images/generations', { ...IMAGE, seed: 0 }, SIMPLE],
  ['streamed images with a seed', '/images/generations', { ...STREAMED, seed: 7 }, SIMPLE],
  [
    'images with a seed of the config',
    '/images/generations',
    IMAGE,
    { ...SIMPLE, override_params: { seed: 7 } },
  ],
  ['images in semantic mode', '/images/generations', { ...IMAGE, seed: 7 }, { cache: { mode: 'semantic' } }],
] as const)
  test(`cached by explicit config: ${name}`, async (t) => {
    const prefix = bench.mark();
    const first = await ask(prefix, path, body, config);
    t.is(first.status, 200);
    t.regex(first.cache ?? '', /MISS$/);
    t.deepEqual(await ask(prefix, path, body, config), { ...first, cache: 'HIT' });
    t.is(bench.sentTo(prefix).length, 1);
    const other = 'seed' in body ? { ...body, seed: 8 } : { ...body, user: 'another' };
    if (config === SIMPLE) t.is((await ask(prefix, path, other, config)).cache, 'MISS');
  });

test('cached by explicit config: speech', async (t) => {
  const prefix = bench.mark();
  for (const audio of ['one', 'two'])
    bench.provider.next(`${prefix}/audio/speech`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'audio/mpeg' }).end(audio);
    });
  const first = await ask(prefix, '/audio/speech', SPEECH, SIMPLE);
  t.like(first, { status: 200, cache: 'MISS' });
  t.deepEqual(await ask(prefix, '/audio/speech', SPEECH, SIMPLE), { ...first, cache: 'HIT' });
  t.is((await ask(prefix, '/audio/speech', { ...SPEECH, voice: 'echo' }, SIMPLE)).cache, 'MISS');
  t.is(bench.sentTo(prefix).length, 2);
});

for (const [name, path, body, config] of [
  ['embeddings without the config', '/embeddings', { model: 'embed-1', input: 'a' }, {}],
  ['images without a seed', '/images/generations', IMAGE, SIMPLE],
  ['images with a seed that is null', '/images/generations', { ...IMAGE, seed: null }, SIMPLE],
  ['streamed images without a seed', '/images/generations', STREAMED, SIMPLE],
  ['images with a seed without the config', '/images/generations', { ...IMAGE, seed: 7 }, {}],
  ['edits', '/images/edits', { ...IMAGE, seed: 7, images: [{ image_url: AS_DATA }] }, SIMPLE],
] as const)
  test(`not cached: ${name}`, async (t) => {
    const prefix = bench.mark();
    for (let i = 0; i < 2 && name === 'edits'; i++)
      bench.provider.next(`${prefix}/images/edits`, (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"created":1,"data":[]}');
      });
    for (let i = 0; i < 2; i++) {
      const { status, cache } = await ask(prefix, path, body, config);
      t.is(status, 200);
      t.is(cache ?? 'DISABLED', 'DISABLED');
    }
    t.is(bench.sentTo(prefix).length, 2);
  });

test('REST and gRPC find the same image', async (t) => {
  const prefix = bench.mark();
  t.is((await ask(prefix, '/images/generations', { ...IMAGE, seed: 7 }, SIMPLE)).cache, 'MISS');
  const statuses: (string | null)[] = [];
  const answer = await createClient(ImagesService, bench.transports.grpc).createImage(
    { ...IMAGE, seed: 7n },
    {
      headers: headersOf(prefix, SIMPLE),
      onHeader: (head) => void statuses.push(head.get('x-gateway-cache-status')),
    },
  );
  t.deepEqual(statuses, ['HIT']);
  t.is(answer.data.length, 1);
  t.is(bench.sentTo(prefix).length, 1);
});

const chatOf = (url: string): Json => ({
  model: 'gpt-ok',
  messages: [
    {
      role: 'user',
      content: [
        { type: 'text', text: 'see' },
        { type: 'image_url', image_url: { url } },
      ],
    },
  ],
});
const editOf = (url: string, mask = url): Json => ({
  model: 'gpt-image-1',
  prompt: 'a hat',
  images: [{ image_url: url }, { image_url: AS_DATA }],
  mask: { image_url: mask },
});
const requestTo = (url: string): unknown => (told.get(url)?.request as Json | undefined)?.json;

for (const [name, path, body] of [
  ['chats', '/chat/completions', chatOf],
  ['edits', '/images/edits', editOf],
] as const) {
  test(`a webhook is sent the images of ${name}, and may refuse them`, async (t) => {
    const prefix = bench.mark();
    const webhook = { 'default.webhook': { webhookURL: `${origin()}/no-${name}` }, deny: true };
    const request = body(AS_DATA);
    const { status } = await ask(prefix, path, request, { input_guardrails: [webhook] });
    t.is(status, 446);
    t.deepEqual(requestTo(`/no-${name}`), request);
    t.is(bench.sentTo(prefix).length, 0);
  });

  test(`images of ${name} that are named by URL are put in as data, and a webhook after that sees them`, async (t) => {
    const prefix = bench.mark();
    if (name === 'edits')
      bench.provider.next(`${prefix}${path}`, (_req, res) => {
        res.writeHead(200, { 'content-type': 'application/json' }).end('{"created":1,"data":[]}');
      });
    const { status } = await ask(prefix, path, body(`${origin()}/a.png`), {
      input_mutators: [{ 'default.inlineImageUrls': {} }],
      input_guardrails: [{ 'default.webhook': { webhookURL: `${origin()}/yes-${name}` } }],
    });
    t.is(status, 200);
    t.deepEqual(JSON.parse(bench.sentTo(prefix)[0]!.body.toString()), body(AS_DATA));
    t.deepEqual(requestTo(`/yes-${name}`), body(AS_DATA));
  });
}

test('an image that cannot be fetched is not sent on where a guardrail must see it', async (t) => {
  const prefix = bench.mark();
  const config = { input_mutators: [{ 'default.inlineImageUrls': { failOnError: true }, deny: true }] };
  const { status } = await ask(
    prefix,
    '/images/edits',
    editOf(AS_DATA, 'http://169.254.169.254/m.png'),
    config,
  );
  t.is(status, 446);
  t.is(bench.sentTo(prefix).length, 0);
});
