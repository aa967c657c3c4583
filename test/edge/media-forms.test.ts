// Images of images, videos and containers: forms that the provider reads while they come, or JSON; over REST and gRPC, with
// OpenAI's own client, priced by the image and by the second.
import { createClient } from '@connectrpc/connect';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { ContainersService } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';
import { type Bench, startBench } from '../contract/runner.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import { chatHeaders, type Json, type LimitsClient, limitsClient } from '../support/limits-client.ts';

let bench: Bench;
let client: LimitsClient;
test.before(async () => {
  bench = await startBench();
  client = limitsClient(bench.gateway, bench.provider);
  const price = (model: string, rates: Json) =>
    client.admin('POST', '/model-configs/pricing', {
      provider: 'openai',
      model,
      effective_from: '2020-01-01T00:00:00Z',
      pay_as_you_go: rates,
    });
  await price('painter', { image: { high: { default: { price: 4.0000000001 } } } });
  await price('filmer', { additional_units: { video_second: { price: 10 } } });
});
test.after.always(() => bench?.close());

const PNG = Buffer.from(Array.from({ length: 3000 }, (_, i) => (i * 7) % 256));
const IMAGES = { created: 1, data: [{ b64_json: 'QUE=' }, { b64_json: 'QkI=' }] };

const says = (
  prefix: string,
  path: string,
  value: unknown,
  type = 'application/json',
  status = 200,
): void => {
  bench.provider.next(`${prefix}${path}`, (_req, res) => {
    res.writeHead(status, { 'content-type': type });
    res.end(typeof value === 'string' ? value : JSON.stringify(value));
  });
};

const openai = (prefix: string, headers: Record<string, string> = {}): OpenAI => {
  const {
    'content-type': _json,
    authorization: _bearer,
    ...own
  } = chatHeaders(bench.provider, WORKSPACE_KEY);
  return new OpenAI({
    apiKey: 'sk-provider',
    baseURL: `${bench.gateway.origin}/v1`,
    maxRetries: 0,
    defaultHeaders: { ...own, 'x-gateway-custom-host': bench.provider.origin + prefix, ...headers },
  });
};

/** The form that the provider was sent. */
async function sentForm(prefix: string): Promise<FormData> {
  const seen = bench.sentTo(prefix).at(-1)!;
  const type = String(seen.headers['content-type']);
  return new Response(new Uint8Array(seen.body), { headers: { 'content-type': type } }).formData();
}
const sentJson = (prefix: string): unknown => JSON.parse(bench.sentTo(prefix).at(-1)!.body.toString());
const bytesOf = async (file: unknown): Promise<Buffer> => Buffer.from(await (file as File).arrayBuffer());

test('images are changed: files and members go on, and the images cost by quality', async (t) => {
  const prefix = bench.mark();
  says(prefix, '/images/edits', IMAGES);
  const answer = await openai(prefix, { 'x-gateway-trace-id': 'edit-1' }).images.edit({
    image: [await toFile(PNG, 'a.png', { type: 'image/png' }), await toFile(PNG, 'b.png')],
    mask: await toFile(PNG, 'm.png'),
    prompt: 'a hat',
    model: 'painter',
    quality: 'high',
    n: 2,
  });
  t.deepEqual(answer.data, IMAGES.data);
  const form = await sentForm(prefix);
  t.is(form.get('prompt'), 'a hat');
  t.is(form.get('n'), '2');
  const images = form.getAll('image[]') as File[];
  t.deepEqual(
    images.map(({ name }) => name),
    ['a.png', 'b.png'],
  );
  t.true((await bytesOf(images[1])).equals(PNG));
  t.true((await bytesOf(form.get('mask'))).equals(PNG));
  const [entry] = await client.logs('edit-1');
  t.like(entry, { model: 'painter', usage: { units: { images: 2, image_kind: 'high.default' } } });
  t.is(entry!.cost_exact, '80000000002');
});

test('changed images come in events where they are asked for, and cost the finished ones', async (t) => {
  const prefix = bench.mark();
  const done = { type: 'image_edit.completed', b64_json: 'QUE=', created_at: 1, quality: 'high' };
  const events = [{ type: 'image_edit.partial_image', b64_json: 'QQ==', partial_image_index: 0 }, done];
  says(
    prefix,
    '/images/edits',
    events.map((one) => `data: ${JSON.stringify(one)}\n\n`).join(''),
    'text/event-stream',
  );
  const stream = await openai(prefix, { 'x-gateway-trace-id': 'edit-2' }).images.edit({
    model: 'painter',
    prompt: 'a hat',
    stream: true,
    partial_images: 1,
    image: await toFile(PNG, 'a.png'),
  });
  const seen: string[] = [];
  for await (const { type } of stream) seen.push(type);
  t.deepEqual(seen, ['image_edit.partial_image', 'image_edit.completed']);
  const [entry] = await client.logs('edit-2');
  t.is(entry!.cost_exact, '40000000001');
  says(prefix, '/images/edits', `data: ${JSON.stringify(done)}\n\n`, 'text/event-stream');
  const rpc = createClient(ImagesService, bench.transports.grpc);
  const whole = await rpc.createImageEdit(grpcForm({ prompt: 'a hat', stream: true }, PNG), {
    headers: grpcHeaders(prefix),
  });
  t.deepEqual(
    whole.data.map(({ b64Json }) => b64Json),
    ['QUE='],
  );
});

test('an edit may be JSON that says where the images are', async (t) => {
  const prefix = bench.mark();
  says(prefix, '/images/edits', IMAGES);
  const body = { model: 'painter', prompt: 'a hat', images: [{ image_url: 'https://images.example/a.png' }] };
  const answer = await fetch(`${bench.gateway.origin}/v1/images/edits`, {
    method: 'POST',
    headers: {
      ...chatHeaders(bench.provider, WORKSPACE_KEY),
      'x-gateway-custom-host': bench.provider.origin + prefix,
    },
    body: JSON.stringify(body),
  });
  t.is(answer.status, 200, await answer.text());
  t.deepEqual(sentJson(prefix), body);
});

test('variations take one image', async (t) => {
  const prefix = bench.mark();
  says(prefix, '/images/variations', IMAGES);
  const answer = await openai(prefix).images.createVariation({
    image: await toFile(PNG, 'a.png'),
    model: 'dall-e-2',
    n: 2,
  });
  t.is(answer.data?.length, 2);
  t.true((await bytesOf((await sentForm(prefix)).get('image'))).equals(PNG));
  const rpc = createClient(ImagesService, bench.transports.grpc);
  says(prefix, '/images/variations', IMAGES);
  const typed = await rpc.createImageVariation(grpcForm({}, PNG), { headers: grpcHeaders(prefix) });
  t.is(typed.data.length, 2);
});

const grpcHeaders = (prefix: string) => {
  const { 'content-type': _json, ...own } = chatHeaders(bench.provider, WORKSPACE_KEY) as Record<
    string,
    string
  >;
  return { ...own, 'x-gateway-custom-host': bench.provider.origin + prefix };
};
async function* grpcForm<Head extends object>(head: Head, bytes?: Buffer) {
  yield { kind: { case: 'head', value: head } } as const;
  if (bytes) yield { kind: { case: 'chunk', value: bytes } } as const;
}

type Members = readonly (readonly [string, string | Blob])[];
const image = ['image', new Blob([PNG])] as const;
for (const [path, members, param] of [
  ['/images/edits', [['prompt', 'x']], 'image'],
  ['/images/edits', [image], 'prompt'],
  ['/images/edits', [['prompt', 'x'], ['n', '11'], image], 'n'],
  ['/images/edits', [['prompt', 'x'], image, ['n', '11']], 'n'],
  ['/images/edits', [['prompt', 'x'], ['prompt', 'y'], image], 'prompt'],
  ['/images/edits', [['prompt', 'x'], image, ['prompt', 'y']], 'prompt'],
  ['/images/edits', [['prompt', 'x'], ['quality', 'best'], image], 'quality'],
  ['/images/edits', [['prompt', 'x'], image, ['background', 'red']], 'background'],
  ['/images/edits', [['prompt', 'x'], ['input_fidelity', 'some'], image], 'input_fidelity'],
  ['/images/edits', [['prompt', 'x'], ['output_compression', '101'], image], 'output_compression'],
  ['/images/edits', [['prompt', 'x'], ['partial_images', '4'], image], 'partial_images'],
  [
    '/images/edits',
    [
      ['prompt', 'x'],
      ['picture', new Blob([PNG])],
    ],
    'picture',
  ],
  ['/images/edits', [['prompt', 'x'], image, ['mask', new Blob(['m'])], ['mask', new Blob(['m'])]], 'mask'],
  ['/images/variations', [['n', '1']], 'image'],
  ['/images/variations', [image, image], 'image'],
  ['/images/variations', [['size', 'big'], image], 'size'],
  ['/videos', [['model', 'filmer']], 'prompt'],
  [
    '/videos',
    [
      ['prompt', 'x'],
      ['seconds', '0'],
    ],
    'seconds',
  ],
  [
    '/videos',
    [
      ['prompt', 'x'],
      ['seconds', '4s'],
    ],
    'seconds',
  ],
  [
    '/videos',
    [
      ['prompt', 'x'],
      ['file', new Blob([PNG])],
    ],
    'file',
  ],
] as readonly (readonly [string, Members, string])[])
  test(`${path} with ${members.map(([name, value]) => `${name}=${typeof value === 'string' ? value : 'bytes'}`)}: 400 names ${param}`, async (t) => {
    const prefix = bench.mark();
    const form = new FormData();
    for (const [name, value] of members)
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, value, 'a.png');
    const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
      method: 'POST',
      headers: grpcHeaders(prefix),
      body: form,
    });
    const told = (await answer.json()) as { error: { param: string } };
    t.is(answer.status, 400, JSON.stringify(told));
    t.is(told.error.param, param);
  });

test('values that OpenAI does not have pass to others', async (t) => {
  const prefix = bench.mark();
  says(prefix, '/images/edits', IMAGES);
  const answer = await openai(prefix, { 'x-gateway-provider': 'openai-compatible' }).images.edit({
    prompt: 'x',
    quality: 'best' as 'high',
    image: await toFile(PNG, 'a.png'),
  });
  t.is(answer.data?.length, 2);
  t.is((await sentForm(prefix)).get('quality'), 'best');
});

const VIDEO = {
  id: 'video_1',
  object: 'video',
  model: 'filmer',
  status: 'queued',
  progress: 0,
  created_at: 1,
  seconds: '8',
  size: '1280x720',
};

test('videos: made of a form or of JSON, priced by the second; listed, read, remixed, deleted, downloaded', async (t) => {
  const prefix = bench.mark();
  says(prefix, '/videos', VIDEO);
  const own = openai(prefix, { 'x-gateway-trace-id': 'video-1' });
  const made = await own.videos.create({
    prompt: 'a cat',
    model: 'filmer' as 'sora-2',
    seconds: '8',
    input_reference: await toFile(PNG, 'a.png'),
  });
  t.is(made.id, 'video_1');
  const form = await sentForm(prefix);
  t.is(form.get('seconds'), '8');
  t.true((await bytesOf(form.get('input_reference'))).equals(PNG));
  const [entry] = await client.logs('video-1');
  t.like(entry, { model: 'filmer', cost_exact: '800000000000', usage: { units: { video_seconds: 8 } } });
  says(prefix, '/videos', { ...VIDEO, seconds: '4' });
  const rest = await fetch(`${bench.gateway.origin}/v1/videos`, {
    method: 'POST',
    headers: { ...grpcHeaders(prefix), 'content-type': 'application/json', 'x-gateway-trace-id': 'video-2' },
    body: JSON.stringify({ prompt: 'a cat', model: 'filmer', seconds: '4' }),
  });
  t.is(rest.status, 200, await rest.text());
  t.deepEqual(sentJson(prefix), { prompt: 'a cat', model: 'filmer', seconds: '4' });
  t.is((await client.logs('video-2'))[0]!.cost_exact, '400000000000');
  says(prefix, '/videos/video_1/remix', { ...VIDEO, id: 'video_2', remixed_from_video_id: 'video_1' });
  const remix = await openai(prefix, { 'x-gateway-trace-id': 'video-3' }).videos.remix('video_1', {
    prompt: 'a dog',
  });
  t.is(remix.remixed_from_video_id, 'video_1');
  t.is((await client.logs('video-3'))[0]!.cost_exact, '800000000000');
  says(prefix, '/videos', { object: 'list', data: [VIDEO], has_more: false });
  t.is((await own.videos.list({ limit: 2, order: 'asc' })).data[0]?.id, 'video_1');
  says(prefix, '/videos/video_1', VIDEO);
  t.regex(bench.sentTo(prefix).at(-1)!.url, /\/videos\?limit=2&order=asc$/);
  t.is((await own.videos.retrieve('video_1')).status, 'queued');
  says(prefix, '/videos/video_1/content', 'bytes of a picture', 'image/webp');
  const content = await own.videos.downloadContent('video_1', { variant: 'thumbnail' });
  t.is(content.headers.get('content-type'), 'image/webp');
  t.is(await content.text(), 'bytes of a picture');
  says(prefix, '/videos/video_1', { id: 'video_1', object: 'video.deleted', deleted: true });
  t.true((await own.videos.delete('video_1')).deleted);
  const rpc = createClient(VideosService, bench.transports.grpc);
  says(prefix, '/videos', VIDEO);
  t.is((await rpc.createVideo(grpcForm({ prompt: 'x' }), { headers: grpcHeaders(prefix) })).seconds, '8');
  t.deepEqual(sentJson(prefix), { prompt: 'x' });
});

test('containers and their files are relayed', async (t) => {
  const prefix = bench.mark();
  const own = openai(prefix);
  const container = { id: 'cntr_1', object: 'container', name: 'c', created_at: 1, status: 'running' };
  const file = {
    id: 'cfile_1',
    object: 'container.file',
    container_id: 'cntr_1',
    created_at: 1,
    bytes: 3,
    path: '/mnt/a',
    source: 'user',
  };
  says(prefix, '/containers', container);
  t.is((await own.containers.create({ name: 'c', file_ids: ['file-1'] })).id, 'cntr_1');
  t.deepEqual(sentJson(prefix), { name: 'c', file_ids: ['file-1'] });
  says(prefix, '/containers', { object: 'list', data: [container], has_more: false });
  t.is((await own.containers.list()).data[0]?.id, 'cntr_1');
  says(prefix, '/containers/cntr_1', container);
  t.is((await own.containers.retrieve('cntr_1')).name, 'c');
  says(prefix, '/containers/cntr_1/files', file);
  t.is((await own.containers.files.create('cntr_1', { file: await toFile(PNG, 'a.bin') })).id, 'cfile_1');
  t.true((await bytesOf((await sentForm(prefix)).get('file'))).equals(PNG));
  const rpc = createClient(ContainersService, bench.transports.grpc);
  says(prefix, '/containers/cntr_1/files', file);
  const head = { containerId: 'cntr_1', fileId: 'file-1' };
  t.is((await rpc.createContainerFile(grpcForm(head), { headers: grpcHeaders(prefix) })).id, 'cfile_1');
  t.deepEqual(sentJson(prefix), { file_id: 'file-1' });
  says(prefix, '/containers/cntr_1/files', { object: 'list', data: [file], has_more: false });
  t.is((await own.containers.files.list('cntr_1')).data[0]?.path, '/mnt/a');
  says(prefix, '/containers/cntr_1/files/cfile_1', file);
  t.is((await own.containers.files.retrieve('cfile_1', { container_id: 'cntr_1' })).bytes, 3);
  says(prefix, '/containers/cntr_1/files/cfile_1/content', 'abc', 'application/octet-stream');
  const content = await own.containers.files.content.retrieve('cfile_1', { container_id: 'cntr_1' });
  t.is(await content.text(), 'abc');
  bench.provider.next(
    `${prefix}/containers/cntr_1/files/cfile_1`,
    (_req, res) => void res.writeHead(204).end(),
  );
  await t.notThrowsAsync(own.containers.files.delete('cfile_1', { container_id: 'cntr_1' }));
  says(prefix, '/containers/cntr_1', { id: 'cntr_1', object: 'container.deleted', deleted: true });
  await t.notThrowsAsync(own.containers.delete('cntr_1'));
});
