// The specification's cases of batches and files with something in them, over every protocol: pages by `after` and `limit`,
// the output of a batch, and a file that is deleted; with the gateway, and at a provider that has batches.
import { createClient } from '@connectrpc/connect';
import test, { type ExecutionContext } from 'ava';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import type { BinaryAnswer } from '../../gen/gateway/inference/v2/common_pb.ts';
import { FilesService } from '../../gen/gateway/inference/v2/files_pb.ts';
import { eventually } from '../support/eventually.ts';
import { WORKSPACE_KEY } from '../support/gateway.ts';
import {
  type Bench,
  type Called,
  exchange,
  type JsonObject,
  PROTOCOLS,
  type Protocol,
  startBench,
} from './runner.ts';

let bench: Bench;
/** Of the batches, the newest first. */
const ids: string[] = [];
const ENDPOINT = '/v1/chat/completions';
const ROWS = ['a', 'b'];

const headersOf = (config?: JsonObject): Record<string, string> => ({
  'x-gateway-api-key': WORKSPACE_KEY,
  ...(config && { 'x-gateway-config': JSON.stringify(config) }),
});
const rowsOf = (customIds: readonly string[]): string =>
  customIds
    .map((id) => ({
      custom_id: id,
      method: 'POST',
      url: ENDPOINT,
      body: { model: 'gpt-ok', messages: [{ role: 'user', content: 'hi' }] },
    }))
    .map((row) => JSON.stringify(row))
    .join('\n');

async function uploaded(): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', new Blob([rowsOf(ROWS)]), 'in.jsonl');
  const answer = await fetch(`${bench.gateway.origin}/v1/files`, {
    method: 'POST',
    headers: headersOf(),
    body: form,
  });
  return ((await answer.json()) as { readonly id: string }).id;
}

async function json(
  method: string,
  path: string,
  config?: JsonObject,
  body?: JsonObject,
): Promise<JsonObject> {
  const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method,
    headers: { ...headersOf(config), ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  return (await answer.json()) as JsonObject;
}

test.before(async () => {
  bench = await startBench();
  const config = { provider: 'deepseek', api_key: 'sk', custom_host: `${bench.provider.origin}/own-batches` };
  const input = await uploaded();
  for (let i = 0; i < 3; i++) {
    const body = { input_file_id: input, endpoint: ENDPOINT, completion_window: '24h' };
    ids.unshift(String((await json('POST', '/batches', config, body)).id));
  }
  for (const id of ids)
    await eventually('the batch to end', async () =>
      (await json('GET', `/batches/${id}`)).status === 'completed' ? true : undefined,
    );
});
test.after.always(() => bench?.close());

const NO_PROVIDER = {
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  authorization: undefined,
};
const { listBatches } = BatchesService.method;

async function page(t: ExecutionContext, protocol: Protocol, called: Called, prefix?: string) {
  const { error, json } = await exchange(bench, called, protocol, prefix);
  t.is(error, undefined);
  return json;
}
const idsOf = (page: JsonObject): unknown[] => (page.data as JsonObject[]).map(({ id }) => id);

for (const protocol of PROTOCOLS) {
  test(`GET /batches goes on after a batch, the newest first, so many at once [${protocol}]`, async (t) => {
    const own = (body: JsonObject) => page(t, protocol, { method: listBatches, body, headers: NO_PROVIDER });
    const first = await own({ limit: 2 });
    t.deepEqual(idsOf(first), ids.slice(0, 2));
    t.like(first, { object: 'list', has_more: true, first_id: ids[0], last_id: ids[1] });
    const second = await own({ limit: 2, after: ids[1]! });
    t.deepEqual(idsOf(second), ids.slice(2));
    t.like(second, { has_more: false, first_id: ids[2], last_id: ids[2] });
    t.deepEqual(idsOf(await own({ after: ids[2]! })), []);
    t.deepEqual(idsOf(await own({})), ids);
  });

  test(`GET /batches of a provider: after and limit go on, and its page comes back [${protocol}]`, async (t) => {
    const prefix = bench.mark();
    const listed = { object: 'list', data: [{ id: 'batch_2', object: 'batch', own: 1 }], has_more: true };
    bench.provider.next(`${prefix}/batches`, (_req, res) => {
      res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(listed));
    });
    const called = { method: listBatches, body: { after: 'batch_1', limit: 1 } };
    const answer = await page(t, protocol, called, prefix);
    t.like(answer, { object: 'list', has_more: true });
    t.like((answer.data as JsonObject[])[0], { id: 'batch_2', object: 'batch' });
    const asked = new URL(bench.sentTo(prefix)[0]!.url, 'http://provider');
    t.deepEqual(Object.fromEntries(asked.searchParams), { after: 'batch_1', limit: '1' });
  });

  test(`GET /batches/{id}/output gives the lines [${protocol}]`, async (t) => {
    const text = await outputOf(protocol, ids[0]!);
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as JsonObject);
    t.deepEqual(lines.map(({ custom_id: id }) => id).sort(), ROWS);
    for (const { response } of lines) t.is((response as JsonObject).status_code, 200);
  });

  test(`DELETE /files/{id} deletes the file, once [${protocol}]`, async (t) => {
    const id = await uploaded();
    const called = { method: FilesService.method.deleteFile, body: { file_id: id }, headers: NO_PROVIDER };
    t.deepEqual(await page(t, protocol, called), { id, object: 'file', deleted: true });
    const { error } = await exchange(bench, called, protocol);
    t.truthy(error);
    t.is((await fetch(`${bench.gateway.origin}/v1/files/${id}`, { headers: headersOf() })).status, 404);
  });
}

async function outputOf(protocol: Protocol, batchId: string): Promise<string> {
  if (protocol === 'rest') {
    const answer = await fetch(`${bench.gateway.origin}/v1/batches/${batchId}/output`, {
      headers: headersOf(),
    });
    return answer.text();
  }
  const pieces: Uint8Array[] = [];
  const client = createClient(BatchesService, bench.transports[protocol]);
  for await (const { kind } of client.getBatchOutput(
    { batchId },
    { headers: headersOf() },
  ) as AsyncIterable<BinaryAnswer>)
    if (kind.case === 'chunk') pieces.push(kind.value);
  return Buffer.concat(pieces).toString();
}
