// A @grpc/grpc-js client from the protos as they stand: files as client streams, contents and speech as server streams,
// images from forms, fine-tuning, and batches at a provider and run by the gateway.
import grpc from '@grpc/grpc-js';
import protoLoader from '@grpc/proto-loader';
import test from 'ava';
import { eventually } from '../support/eventually.ts';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import { type FakeProvider, startFakeProvider } from '../support/fake-provider.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

type Message = Record<string, unknown>;
type Done = (error: grpc.ServiceError | null, answer?: Message) => void;
type Unary = (request: Message, metadata: grpc.Metadata, options: grpc.CallOptions, done: Done) => unknown;
type Upload = (
  metadata: grpc.Metadata,
  options: grpc.CallOptions,
  done: Done,
) => grpc.ClientWritableStream<Message>;
type Download = (
  request: Message,
  metadata: grpc.Metadata,
  options: grpc.CallOptions,
) => grpc.ClientReadableStream<Piece>;
interface Piece {
  readonly kind: 'head' | 'chunk';
  readonly head?: { readonly contentType: string; readonly length?: number; readonly filename?: string };
  readonly chunk?: Buffer;
}

const SERVICES = ['Files', 'Audio', 'Images', 'Batches', 'FineTuning'] as const;
type Service = (typeof SERVICES)[number];

let gateway: TestGateway;
let files: FilesProvider;
let provider: FakeProvider;
const clients = new Map<string, grpc.Client>();

test.before(async () => {
  [gateway, files, provider] = await Promise.all([
    startGateway({ GATEWAY_DRAIN_SECONDS: '1' }),
    startFilesProvider(),
    startFakeProvider(),
  ]);
  const definition = protoLoader.loadSync(
    ['files', 'audio', 'images', 'batches', 'fine_tuning'].map(
      (name) => `gateway/inference/v2/${name}.proto`,
    ),
    { includeDirs: ['proto'], longs: Number, oneofs: true, defaults: false, arrays: true },
  );
  const loaded = grpc.loadPackageDefinition(definition) as unknown as {
    gateway: { inference: { v2: Record<string, grpc.ServiceClientConstructor> } };
  };
  for (const name of SERVICES)
    clients.set(
      name,
      new loaded.gateway.inference.v2[`${name}Service`]!(
        `127.0.0.1:${gateway.port}`,
        grpc.credentials.createInsecure(),
      ),
    );
});
test.after.always(async () => {
  for (const client of clients.values()) client.close();
  await Promise.all([files?.close(), provider?.close()]);
  await gateway?.close();
});

const methodOf = <Method>(service: Service, name: string): Method => {
  const client = clients.get(service)!;
  return (client as unknown as Record<string, (...args: never[]) => unknown>)[name]!.bind(client) as Method;
};

/** The gateway's own files and batches where there is no target. */
function metadataOf(target?: Message): grpc.Metadata {
  const metadata = new grpc.Metadata();
  metadata.set('x-gateway-api-key', WORKSPACE_KEY);
  if (target !== undefined) metadata.set('x-gateway-config', JSON.stringify(target));
  return metadata;
}
const openai = (origin: string): Message => ({ provider: 'openai', api_key: 'sk-own', custom_host: origin });
const limit = (): grpc.CallOptions => ({ deadline: Date.now() + 60_000 });

const unary = (service: Service, name: string, request: Message, target?: Message): Promise<Message> =>
  new Promise((resolve, reject) => {
    methodOf<Unary>(service, name)(request, metadataOf(target), limit(), (error, answer) =>
      error ? reject(error) : resolve(answer ?? {}),
    );
  });

const upload = (
  service: Service,
  name: string,
  messages: readonly Message[],
  target?: Message,
): Promise<Message> =>
  new Promise((resolve, reject) => {
    const stream = methodOf<Upload>(service, name)(metadataOf(target), limit(), (error, answer) =>
      error ? reject(error) : resolve(answer ?? {}),
    );
    stream.on('error', () => {});
    for (const message of messages) stream.write(message);
    stream.end();
  });

async function download(service: Service, name: string, request: Message, target?: Message) {
  const pieces: Piece[] = [];
  const stream = methodOf<Download>(service, name)(request, metadataOf(target), limit());
  for await (const piece of stream as AsyncIterable<Piece>) pieces.push(piece);
  const [first, ...rest] = pieces;
  return {
    head: first?.head,
    pieces: rest.length,
    bytes: Buffer.concat(rest.map(({ chunk }) => chunk ?? Buffer.alloc(0))),
  };
}

const BYTES = Buffer.from(Array.from({ length: 300_000 }, (_, i) => (i * 31) % 256));
const formOf = (bytes: Buffer, head: Message, tail?: Message): Message[] => [
  { head },
  { file: { filename: 'a b.bin', contentType: 'application/octet-stream' } },
  ...Array.from({ length: Math.ceil(bytes.length / 50_000) }, (_, i) => ({
    chunk: bytes.subarray(i * 50_000, (i + 1) * 50_000),
  })),
  ...(tail === undefined ? [] : [{ tail }]),
];

for (const [name, target] of [
  ['at a provider', () => openai(files.origin)],
  ['with the gateway', () => undefined],
] as const)
  test(`a file goes up as a client stream and comes down as a server stream: ${name}`, async (t) => {
    const made = await upload('Files', 'uploadFile', formOf(BYTES, { purpose: 'user_data' }), target());
    t.like(made, { object: 'file', bytes: BYTES.length, filename: 'a b.bin', purpose: 'user_data' });
    const fileId = String(made.id);
    t.is(fileId.startsWith('file-gw-'), name === 'with the gateway');
    t.like(await unary('Files', 'getFile', { fileId }, target()), { id: fileId });
    const { head, bytes } = await download('Files', 'getFileContent', { fileId }, target());
    t.like(head, { contentType: 'application/octet-stream', length: BYTES.length, filename: 'a b.bin' });
    t.true(bytes.equals(BYTES));
    const listed = await unary('Files', 'listFiles', {}, target());
    t.true((listed.data as Message[]).some(({ id }) => id === fileId));
    t.like(await unary('Files', 'deleteFile', { fileId }, target()), { id: fileId, deleted: true });
    const error = await t.throwsAsync<grpc.ServiceError>(
      download('Files', 'getFileContent', { fileId }, target()),
    );
    t.is(error?.code, grpc.status.NOT_FOUND);
  });

for (const [name, messages] of [
  ['no purpose', formOf(BYTES, {})],
  ['a purpose twice', formOf(BYTES, { purpose: 'batch' }, { purpose: 'batch' })],
  ['the file before the head', formOf(BYTES, { purpose: 'batch' }).slice(1)],
  ['no file', [{ head: { purpose: 'batch' } }]],
  ['bytes after the tail', [...formOf(BYTES, {}, { purpose: 'batch' }), { chunk: Buffer.from('x') }]],
  ['an empty message', [...formOf(BYTES, { purpose: 'batch' }), {}]],
] as const)
  for (const [place, target] of [
    ['at a provider', () => openai(files.origin)],
    ['with the gateway', () => undefined],
  ] as const)
    test(`an upload is refused, and nothing is kept: ${name}, ${place}`, async (t) => {
      const mark = `refused-${name}-${place}`;
      const marked = messages.map((one) =>
        'file' in one ? { file: { filename: mark, contentType: 'text/plain' } } : one,
      );
      const error = await t.throwsAsync<grpc.ServiceError>(upload('Files', 'uploadFile', marked, target()));
      t.is(error?.code, grpc.status.INVALID_ARGUMENT);
      t.false([...files.files.values()].some(({ filename }) => filename === mark));
      const own = await unary('Files', 'listFiles', {});
      t.false(((own.data ?? []) as Message[]).some(({ filename }) => filename === mark));
    });

test('speech is a server stream: the head, then the bytes', async (t) => {
  const prefix = '/grpc-js-speech';
  provider.next(`${prefix}/audio/speech`, (_req, res) => {
    res.writeHead(200, { 'content-type': 'audio/mpeg' });
    res.write(BYTES.subarray(0, 1000));
    res.end(BYTES.subarray(1000));
  });
  const asked = { model: 'tts-1', input: 'hellö', voice: { name: 'alloy' }, responseFormat: 'mp3' };
  const { head, bytes } = await download('Audio', 'createSpeech', asked, openai(provider.origin + prefix));
  t.is(head?.contentType, 'audio/mpeg');
  t.true(bytes.equals(BYTES));
  const sent = provider.seen.find(({ url }) => url.startsWith(prefix))!;
  t.deepEqual(JSON.parse(sent.body.toString()), {
    model: 'tts-1',
    input: 'hellö',
    voice: 'alloy',
    response_format: 'mp3',
  });
  const error = await t.throwsAsync<grpc.ServiceError>(
    download('Audio', 'createSpeech', { ...asked, speed: 5 }, openai(provider.origin + prefix)),
  );
  t.is(error?.code, grpc.status.INVALID_ARGUMENT);
  t.regex(error?.details ?? '', /speed/);
});

test('a transcript and an edited image are client streams with a message as the answer', async (t) => {
  const prefix = '/grpc-js-forms';
  const target = openai(provider.origin + prefix);
  const says = (path: string, value: object): void =>
    provider.next(prefix + path, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    });
  says('/audio/transcriptions', { text: 'said' });
  const heard = await upload('Audio', 'createTranscription', formOf(BYTES, { model: 'whisper-1' }), target);
  t.is(heard.text, 'said');
  says('/images/edits', { created: 1, data: [{ b64_json: 'QUE=' }] });
  const head = { model: 'gpt-image-1', prompt: 'a hat' };
  const edited = await upload('Images', 'createImageEdit', formOf(BYTES, head), target);
  t.like((edited.data as Message[])[0], { b64Json: 'QUE=' });
  const forms = provider.seen.filter(({ url }) => url.startsWith(prefix));
  t.is(forms.length, 2);
  for (const { body } of forms) t.true(body.includes(BYTES));
});

const ENDPOINT = '/v1/chat/completions';
const row = (id: string): string =>
  JSON.stringify({
    custom_id: id,
    method: 'POST',
    url: ENDPOINT,
    body: { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] },
  });
const rowsOf = (...ids: readonly string[]): Buffer => Buffer.from(ids.map(row).join('\n'));

test('a batch and a fine-tuning job at a provider', async (t) => {
  const target = openai(files.origin);
  files.answer = (verb, path, body) => {
    const batch = { id: 'batch_1', object: 'batch', endpoint: ENDPOINT, status: 'in_progress' };
    if (verb === 'POST' && path.endsWith('/batches'))
      return { ...batch, ...(body as object), status: 'validating' };
    if (path.endsWith('/cancel')) return { ...batch, status: 'cancelling' };
    if (path.endsWith('/fine_tuning/jobs'))
      return { id: 'ftjob-1', object: 'fine_tuning.job', status: 'queued', ...(body as object) };
    if (path.endsWith('/batches')) return { object: 'list', data: [batch], has_more: false };
    return path.endsWith('/batch_1')
      ? { ...batch, request_counts: { total: 2, completed: 1, failed: 0 } }
      : undefined;
  };
  const file = await upload('Files', 'uploadFile', formOf(rowsOf('a', 'b'), { purpose: 'batch' }), target);
  const inputFileId = String(file.id);
  const made = await unary(
    'Batches',
    'createBatch',
    { inputFileId, endpoint: ENDPOINT, completionWindow: '24h' },
    target,
  );
  t.like(made, { id: 'batch_1', inputFileId, endpoint: ENDPOINT, status: 'validating' });
  const got = await unary('Batches', 'getBatch', { batchId: 'batch_1' }, target);
  t.like(got, { id: 'batch_1', status: 'in_progress', requestCounts: { total: 2, completed: 1 } });
  const page = await unary('Batches', 'listBatches', { limit: 1 }, target);
  t.like((page.data as Message[])[0], { id: 'batch_1' });
  t.like(await unary('Batches', 'cancelBatch', { batchId: 'batch_1' }, target), { status: 'cancelling' });
  const job = await unary(
    'FineTuning',
    'createFineTuningJob',
    { model: 'm', trainingFile: inputFileId },
    target,
  );
  t.like(job, { id: 'ftjob-1', model: 'm', trainingFile: inputFileId });
  const error = await t.throwsAsync<grpc.ServiceError>(
    unary('Batches', 'listBatches', { limit: 101 }, target),
  );
  t.is(error?.code, grpc.status.INVALID_ARGUMENT);
});

test('a batch that the gateway runs: made, got until it is done, its output a server stream', async (t) => {
  const target = {
    provider: 'deepseek',
    api_key: 'sk-own',
    custom_host: `${provider.origin}/grpc-js-batch`,
  };
  const file = await upload(
    'Files',
    'uploadFile',
    formOf(rowsOf('a', 'b', 'c'), { purpose: 'batch' }),
    target,
  );
  const made = await unary(
    'Batches',
    'createBatch',
    { inputFileId: file.id, endpoint: ENDPOINT, completionWindow: '24h' },
    target,
  );
  const batchId = String(made.id);
  const done = await eventually('the batch to end', async () => {
    const batch = await unary('Batches', 'getBatch', { batchId });
    return batch.status === 'completed' || batch.status === 'failed' ? batch : undefined;
  });
  t.is(done.status, 'completed');
  t.like(done.requestCounts, { total: 3, completed: 3 });
  const { head, bytes } = await download('Batches', 'getBatchOutput', { batchId });
  t.truthy(head?.contentType);
  const ids = bytes
    .toString()
    .trim()
    .split('\n')
    .map((line) => (JSON.parse(line) as { custom_id: string }).custom_id);
  t.deepEqual(ids.sort(), ['a', 'b', 'c']);
});
