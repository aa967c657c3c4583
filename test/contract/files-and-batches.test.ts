// The specification's cases of files and batches, over every protocol: a provider's own, and the gateway's.
import test from 'ava';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { FilesService } from '../../gen/gateway/inference/v2/files_pb.ts';
import { type Bench, runCases, startBench } from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createBatch, listBatches, getBatch, getBatchOutput } = BatchesService.method;
const { deleteFile, getFile, listFiles } = FilesService.method;
const NO_PROVIDER = {
  'x-gateway-provider': undefined,
  'x-gateway-custom-host': undefined,
  authorization: undefined,
};
const deepseek = { 'x-gateway-provider': 'deepseek' };

runCases(test, () => bench, [
  {
    name: 'GET /batches: a page of the gateway’s own',
    method: listBatches,
    body: { limit: 100 },
    headers: NO_PROVIDER,
    check: (t, { json, sent }) => {
      t.like(json, { object: 'list', data: [], has_more: false });
      t.is(sent.length, 0);
    },
  },
  {
    name: 'GET /batches: a provider without batches',
    method: listBatches,
    body: {},
    headers: deepseek,
    check: (t, { json, sent }) => {
      t.deepEqual(json.data, []);
      t.is(sent.length, 0);
    },
  },
  ...[0, 101].map((limit) => ({
    name: `GET /batches: a limit of ${limit}`,
    method: listBatches,
    body: { limit },
    refused: { status: 400, code: 3, reason: 'validation_failed' as const, param: 'limit' },
  })),
  {
    name: 'GET /batches: after a batch that there is not',
    method: listBatches,
    body: { after: 'batch_gw_none' },
    headers: NO_PROVIDER,
    refused: { status: 400, code: 3, reason: 'validation_failed', param: 'after' },
  },
  {
    name: 'GET /batches/{id}: none of this id',
    method: getBatch,
    body: { batch_id: 'batch_gw_none' },
    refused: { status: 404, code: 5, reason: 'not_found', param: 'batch_id' },
  },
  {
    name: 'GET /batches/{id}/output: none of this id',
    method: getBatchOutput,
    body: { batch_id: 'batch_gw_none' },
    refused: { status: 404, code: 5, reason: 'not_found', param: 'batch_id' },
  },
  {
    name: 'POST /batches: no such file',
    method: createBatch,
    body: { input_file_id: 'file-gw-none', endpoint: '/v1/embeddings', completion_window: '24h' },
    headers: deepseek,
    refused: { status: 404, code: 5, reason: 'not_found', param: 'input_file_id' },
  },
  {
    name: 'DELETE /files/{id}: none of this id',
    method: deleteFile,
    body: { file_id: 'file-gw-none' },
    refused: { status: 404, code: 5, reason: 'not_found', param: 'file_id' },
  },
  {
    name: 'GET /files/{id}: one of no provider',
    method: getFile,
    body: { file_id: 'file-abc' },
    headers: NO_PROVIDER,
    refused: { status: 404, code: 5, reason: 'not_found', param: 'file_id' },
  },
  {
    name: 'GET /files: a page of the gateway’s own',
    method: listFiles,
    body: {},
    headers: NO_PROVIDER,
    check: (t, { json }) => t.like(json, { object: 'list', data: [], has_more: false }),
  },
]);
