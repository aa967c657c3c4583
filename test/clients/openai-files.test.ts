// OpenAI's own client: files, uploads, fine-tuning, vector stores, assistants, at a provider and with the gateway.
import http from 'node:http';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { eventually } from '../support/eventually.ts';
import { type FilesProvider, startFilesProvider } from '../support/fake-files.ts';
import { startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
let provider: FilesProvider;
test.before(async () => {
  [gateway, provider] = await Promise.all([startGateway(), startFilesProvider()]);
});
test.after.always(async () => {
  await gateway?.close();
  await provider?.close();
});

const at = (headers: Record<string, string>): OpenAI =>
  new OpenAI({
    apiKey: WORKSPACE_KEY,
    baseURL: `${gateway.origin}/v1`,
    defaultHeaders: headers,
    maxRetries: 0,
  });
const native = (): OpenAI =>
  at({
    'x-gateway-config': JSON.stringify({
      provider: 'openai',
      api_key: 'sk-own',
      custom_host: provider.origin,
    }),
  });
const own = (): OpenAI => at({});
const several = (): OpenAI =>
  at({
    'x-gateway-config': JSON.stringify({
      strategy: { mode: 'fallback' },
      targets: [
        { provider: 'openai', api_key: 'sk-a', custom_host: provider.origin },
        { provider: 'groq', api_key: 'sk-b', custom_host: provider.origin },
      ],
    }),
  });

const LINES = '{"custom_id":"a"}\n{"custom_id":"b ü"}\n';

for (const [name, client] of [
  ['native', native],
  ['own', own],
  ['several targets', several],
] as const) {
  test.serial(`files live: ${name}`, async (t) => {
    const openai = client();
    const made = await openai.files.create({
      file: await toFile(Buffer.from(LINES), 'rows.jsonl'),
      purpose: 'batch',
    });
    t.is(made.object, 'file');
    t.is(made.bytes, Buffer.byteLength(LINES));
    t.is(made.filename, 'rows.jsonl');
    t.is(made.purpose, 'batch');
    t.is(made.id.startsWith('file-gw-'), name !== 'native');
    t.is((await openai.files.retrieve(made.id)).id, made.id);
    const listed: string[] = [];
    for await (const file of openai.files.list({ purpose: 'batch' })) listed.push(file.id);
    t.true(listed.includes(made.id));
    const content = await openai.files.content(made.id);
    t.is(await content.text(), LINES);
    t.deepEqual(await openai.files.delete(made.id), { id: made.id, object: 'file', deleted: true });
    const error = await t.throwsAsync(openai.files.retrieve(made.id), { instanceOf: OpenAI.NotFoundError });
    t.is(error?.status, 404);
    await t.throwsAsync(openai.files.content(made.id), { instanceOf: OpenAI.NotFoundError });
  });
}

test.serial('a provider without files: the gateway keeps them', async (t) => {
  const openai = at({
    'x-gateway-provider': 'deepseek',
    'x-gateway-api-key': WORKSPACE_KEY,
    authorization: 'Bearer sk',
  });
  const made = await openai.files.create({
    file: await toFile(Buffer.from(LINES), 'a.jsonl'),
    purpose: 'batch',
  });
  t.true(made.id.startsWith('file-gw-'));
});

test.serial('a file is its workspace’s alone, and pages follow each other', async (t) => {
  const openai = own();
  const ids: string[] = [];
  for (let i = 0; i < 5; i++)
    ids.push(
      (await openai.files.create({ file: await toFile(Buffer.from('x'), `${i}`), purpose: 'user_data' })).id,
    );
  const listed: string[] = [];
  for await (const file of openai.files.list({ purpose: 'user_data', limit: 2, order: 'asc' }))
    listed.push(file.id);
  t.deepEqual(listed, ids);
  const page = await openai.files.list({ purpose: 'user_data', limit: 2 });
  t.deepEqual(
    page.data.map(({ id }) => id),
    ids.slice(-2).reverse(),
  );
  t.true(page.has_more);
});

test.serial('a file of the gateway is uploaded to a provider once, when it is first named', async (t) => {
  const kept = await own().files.create({
    file: await toFile(Buffer.from(LINES), 'train.jsonl'),
    purpose: 'fine-tune',
  });
  provider.answer = (verb, path, body) =>
    verb === 'POST' && path.endsWith('/fine_tuning/jobs')
      ? { id: 'ftjob-1', object: 'fine_tuning.job', status: 'queued', error: {}, ...(body as object) }
      : undefined;
  const jobs = await Promise.all(
    [1, 2, 3].map(() => native().fineTuning.jobs.create({ model: 'gpt-4o-mini', training_file: kept.id })),
  );
  const files = new Set(jobs.map((job) => job.training_file));
  t.is(files.size, 1);
  const copy = provider.files.get([...files][0] ?? '');
  t.is(copy?.content?.toString(), LINES);
  t.like(copy, { filename: 'train.jsonl', texts: { purpose: 'fine-tune' } });
  const copies = [...provider.files.values()].filter(({ filename }) => filename === 'train.jsonl');
  t.is(copies.length, 1);
});

test.serial('what is wrong after the file ends in a 400, and nothing is kept', async (t) => {
  const before = provider.files.size;
  for (const [client, purpose] of [
    [native(), 'fun'],
    [native(), undefined],
    [own(), undefined],
  ] as const) {
    const error = await t.throwsAsync(
      client.files.create({ file: await toFile(Buffer.alloc(200_000), 'a'), purpose: purpose as 'batch' }),
      { instanceOf: OpenAI.BadRequestError },
    );
    t.is(error?.param, 'purpose');
  }
  t.is(provider.files.size, before);
  const left = await own().files.list();
  t.false(left.data.some(({ bytes }) => bytes === 200_000));
});

/** A form over a socket of its own: its pieces, and the answer. */
function sendForm(
  headers: Record<string, string>,
  begin: string,
): { req: http.ClientRequest; answer: Promise<{ status: number; body: string }> } {
  const { port } = gateway;
  const req = http.request({
    port,
    path: '/v1/files',
    method: 'POST',
    headers: {
      authorization: `Bearer ${WORKSPACE_KEY}`,
      'content-type': 'multipart/form-data; boundary=b',
      ...headers,
    },
  });
  const answer = new Promise<{ status: number; body: string }>((resolve, reject) => {
    req.on('error', reject);
    req.on('response', (res) => {
      let body = '';
      res.on('data', (piece: Buffer) => {
        body += piece.toString();
      });
      res.on('end', () => resolve({ status: res.statusCode ?? 0, body }));
    });
  });
  answer.catch(() => {});
  req.write(begin);
  return { req, answer };
}

const config = (): Record<string, string> => ({
  'x-gateway-config': JSON.stringify({ provider: 'openai', api_key: 'sk-own', custom_host: provider.origin }),
});
const PURPOSE = (value: string): string =>
  `--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\n${value}\r\n`;
const FILE = '--b\r\ncontent-disposition: form-data; name="file"; filename="f"\r\n\r\n';

test.serial('what is wrong before the file is told before the provider is called', async (t) => {
  const before = provider.seen.length;
  const { req, answer } = sendForm(config(), `${PURPOSE('fun')}${FILE}some bytes`);
  const { status, body } = await answer;
  t.is(status, 400);
  t.is((JSON.parse(body) as { error: { param: string } }).error.param, 'purpose');
  t.is(provider.seen.length, before);
  req.destroy();
});

test.serial('the provider reads while the client still sends, and a cut form is kept nowhere', async (t) => {
  const [files, read] = [provider.files.size, provider.read];
  const { req } = sendForm(config(), `${PURPOSE('batch')}${FILE}${'x'.repeat(300_000)}`);
  await eventually('the provider to read', () => provider.read - read >= 250_000);
  req.destroy();
  const { req: ended, answer } = sendForm(config(), `${PURPOSE('batch')}${FILE}abc`);
  ended.end();
  t.is((await answer).status, 400);
  t.is(provider.files.size, files);
});

test.serial('a cut upload leaves nothing with the gateway', async (t) => {
  const count = async (): Promise<number> => (await own().files.list()).data.length;
  const before = await count();
  const { req } = sendForm({}, `${PURPOSE('batch')}${FILE}${'x'.repeat(2_000_000)}`);
  const { req: ended, answer } = sendForm({}, `${PURPOSE('batch')}${FILE}${'x'.repeat(2_000_000)}`);
  ended.end();
  t.is((await answer).status, 400);
  req.destroy();
  t.is(await count(), before);
});

test.serial('uploads in parts, vector stores and assistants are relayed', async (t) => {
  const openai = native();
  provider.answer = (verb, path, body) => {
    const said = (body ?? {}) as Record<string, unknown>;
    const id = path.split('/').at(-1);
    if (path.endsWith('/uploads')) return { id: 'upload_1', object: 'upload', status: 'pending', ...said };
    if (path.endsWith('/complete'))
      return {
        id: 'upload_1',
        object: 'upload',
        status: 'completed',
        file: { id: 'file-9', object: 'file' },
        ...said,
      };
    if (path.endsWith('/vector_stores')) return { id: 'vs_1', object: 'vector_store', ...said };
    if (path.endsWith('/vector_stores/vs_1/files'))
      return {
        id: said.file_id,
        object: 'vector_store.file',
        vector_store_id: 'vs_1',
        status: 'in_progress',
      };
    if (verb === 'DELETE') return { id, object: 'deleted', deleted: true };
    if (path.endsWith('/runs')) return { id: 'run_1', object: 'thread.run', thread_id: 't_1', ...said };
    if (path.endsWith('/threads')) return { id: 't_1', object: 'thread', ...said };
    if (path.endsWith('/pause')) return { id: 'ft-1', object: 'fine_tuning.job', status: 'paused' };
    if (path.endsWith('/events'))
      return { object: 'list', data: [{ id: 'ev', level: 'info' }], has_more: false };
    return undefined;
  };
  const upload = await openai.uploads.create({
    filename: 'a',
    purpose: 'batch',
    bytes: 6,
    mime_type: 'text/plain',
  });
  const part = await openai.uploads.parts.create(upload.id, {
    data: await toFile(Buffer.from('abcdef'), 'x'),
  });
  t.is(provider.files.get(part.id)?.content?.toString(), 'abcdef');
  const done = await openai.uploads.complete(upload.id, { part_ids: [part.id] });
  t.is(done.file?.id, 'file-9');
  const store = await openai.vectorStores.create({
    name: 'n',
    expires_after: { anchor: 'last_active_at', days: 3 },
  });
  t.deepEqual(store.expires_after, { anchor: 'last_active_at', days: 3 });
  const kept = await own().files.create({ file: await toFile(Buffer.from('k'), 'k'), purpose: 'assistants' });
  const file = await openai.vectorStores.files.create(store.id, { file_id: kept.id });
  t.is(provider.files.get(file.id)?.content?.toString(), 'k');
  t.true((await openai.vectorStores.delete(store.id)).deleted);
  t.is((await openai.fineTuning.jobs.pause('ft-1')).id, 'ft-1');
  t.is((await openai.fineTuning.jobs.listEvents('ft-1', { limit: 5 })).data[0]?.id, 'ev');
  t.true(provider.seen.some((seen) => seen.endsWith('/fine_tuning/jobs/ft-1/events?limit=5')));
  const thread = await openai.beta.threads.create({ metadata: { a: 'b' } });
  const run = await openai.beta.threads.runs.create(thread.id, { assistant_id: 'asst_1', tools: [] });
  t.like(run, { id: 'run_1', assistant_id: 'asst_1', tools: [] });
});
