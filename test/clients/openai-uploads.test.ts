// OpenAI's own client: uploads in parts that the gateway keeps.
import { createHash } from 'node:crypto';
import { mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@connectrpc/connect';
import { createGrpcTransport } from '@connectrpc/connect-node';
import test from 'ava';
import OpenAI, { toFile } from 'openai';
import { UploadsService } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../support/gateway.ts';

let gateway: TestGateway;
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-uploads-'));
test.before(async () => {
  gateway = await startGateway({ GATEWAY_DATA_DIR: dataDir, GATEWAY_FILE_LIMIT: '70000000' });
});
test.after.always(async () => {
  await gateway?.close();
  rmSync(dataDir, { recursive: true, force: true });
});

const clientOf = (key = WORKSPACE_KEY): OpenAI =>
  new OpenAI({ apiKey: key, baseURL: `${gateway.origin}/v1`, maxRetries: 0 });
const openai = clientOf;
/** Bytes that no two places of a file share. */
const noise = (length: number, seed: number): Buffer =>
  Buffer.from(Uint8Array.from({ length }, (_, i) => (i * 31 + seed + (i >> 8)) % 256));
const begun = (bytes: number, more: object = {}) =>
  openai().uploads.create({
    filename: 'a.bin',
    purpose: 'user_data',
    bytes,
    mime_type: 'application/x-a',
    ...more,
  });
const part = async (id: string, bytes: Buffer) =>
  (await openai().uploads.parts.create(id, { data: await toFile(bytes, 'data') })).id;
const blobs = (): string[] => readdirSync(join(dataDir, 'exports'));
const refused = (t: import('ava').ExecutionContext, work: Promise<unknown>) =>
  t.throwsAsync(work, { instanceOf: OpenAI.APIError });

test.serial(
  'parts are put together in the order that is asked for, and nothing else is left of them',
  async (t) => {
    const [one, two] = [noise(700_000, 1), noise(300_001, 9)];
    const whole = Buffer.concat([one, two]);
    const before = blobs().length;
    const upload = await begun(whole.length, { expires_after: { anchor: 'created_at', seconds: 3600 } });
    t.like(upload, { object: 'upload', status: 'pending', bytes: whole.length, purpose: 'user_data' });
    t.true(upload.expires_at > upload.created_at);
    // They come side by side, and the later one first.
    const [second, first] = await Promise.all([part(upload.id, two), part(upload.id, one)]);
    t.deepEqual((await openai().files.list()).data, [], 'parts are no files');
    const md5 = createHash('md5').update(whole).digest('hex');
    const done = await openai().uploads.complete(upload.id, { part_ids: [first, second], md5 });
    t.like(done, {
      status: 'completed',
      file: { filename: 'a.bin', bytes: whole.length, purpose: 'user_data' },
    });
    t.truthy(done.file?.expires_at);
    const content = await openai().files.content(done.file!.id);
    t.is(content.headers.get('content-type'), 'application/x-a');
    t.true(Buffer.from(await content.arrayBuffer()).equals(whole));
    t.is(blobs().length, before + 1, 'the file alone is left');
    t.is(
      (await refused(t, openai().uploads.complete(upload.id, { part_ids: [first, second] })))?.param,
      'upload_id',
    );
    t.is((await refused(t, openai().uploads.cancel(upload.id)))?.param, 'upload_id');
    await openai().files.delete(done.file!.id);
    t.is(blobs().length, before);
  },
);

test.serial('what is wrong is told by its member, and the upload goes on', async (t) => {
  const before = blobs().length;
  const bytes = noise(5000, 3);
  const upload = await begun(bytes.length);
  const id = await part(upload.id, bytes);
  const extra = await part(upload.id, bytes);
  const complete = (part_ids: string[], md5?: string) =>
    openai().uploads.complete(upload.id, { part_ids, ...(md5 === undefined ? {} : { md5 }) });
  t.is((await refused(t, complete([id, extra])))?.param, 'part_ids', 'more bytes than were said');
  t.is((await refused(t, complete([id, id])))?.param, 'part_ids[1]', 'one part twice');
  t.is((await refused(t, complete(['part_gw_none'])))?.param, 'part_ids[0]');
  t.is((await refused(t, complete([id.slice('part_gw_'.length)])))?.param, 'part_ids[0]');
  t.is((await refused(t, complete([])))?.param, 'part_ids');
  t.is((await refused(t, complete([id], '0'.repeat(32))))?.param, 'md5');
  t.is((await refused(t, part(upload.id, Buffer.alloc(0))))?.param, 'data');
  const long = await refused(t, part(upload.id, Buffer.alloc(64 * 1024 * 1024 + 1)));
  t.deepEqual([long?.status, long?.param], [413, 'data']);
  t.is((await refused(t, begun(70_000_001)))?.param, 'bytes');
  t.is((await refused(t, begun(0)))?.param, 'bytes');
  t.is((await refused(t, part('upload_gw_none', bytes)))?.status, 404);
  const cancelled = await openai().uploads.cancel(upload.id);
  t.is(cancelled.status, 'cancelled');
  t.is((await refused(t, part(upload.id, bytes)))?.param, 'upload_id');
  t.is(blobs().length, before, 'nothing is left');
});

test.serial('a part that is cut leaves nothing; an upload is its workspace’s own', async (t) => {
  const before = blobs().length;
  const upload = await begun(10);
  const rpc = createClient(UploadsService, createGrpcTransport({ baseUrl: gateway.origin }));
  const leaving = new AbortController();
  const headers = { 'x-gateway-api-key': WORKSPACE_KEY };
  async function* cut() {
    yield { kind: { case: 'head', value: { uploadId: upload.id } } } as const;
    yield { kind: { case: 'chunk', value: noise(600_000, 1) } } as const;
    leaving.abort();
  }
  await t.throwsAsync(rpc.addUploadPart(cut(), { headers, signal: leaving.signal }));
  async function* whole() {
    yield { kind: { case: 'head', value: { uploadId: upload.id } } } as const;
    yield { kind: { case: 'chunk', value: noise(10, 1) } } as const;
  }
  const made = await rpc.addUploadPart(whole(), { headers });
  t.is(made.uploadId, upload.id);
  const admin = async (path: string, body: object) => {
    const answer = await fetch(`${gateway.origin}/v1${path}`, {
      method: 'POST',
      headers: { 'x-gateway-api-key': ADMIN_KEY, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    const json = (await answer.json()) as { id: string; key: string };
    if (answer.status !== 200) throw new Error(JSON.stringify(json));
    return json;
  };
  const other = await admin('/admin/workspaces', { name: 'other' });
  const { key } = await admin('/api-keys/workspace/service', {
    name: 'k',
    workspace_id: other.id,
    scopes: ['completions.write'],
  });
  const foreign = await refused(t, clientOf(key).uploads.complete(upload.id, { part_ids: [made.id] }));
  t.is(foreign?.status, 404);
  t.is(
    (await rpc.completeUpload({ uploadId: upload.id, partIds: [made.id] }, { headers })).status,
    'completed',
  );
  t.is(blobs().length, before + 1);
});
