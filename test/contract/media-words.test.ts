// OpenAI's own words in requests for media, files and training: judged by the member's name before OpenAI is called, and not
// where another provider is called. Forms: limits of their texts, before the file and after it.
import type { DescMethod } from '@bufbuild/protobuf';
import test from 'ava';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { ContainersService } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { UploadsService } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { VectorStoresService } from '../../gen/gateway/inference/v2/vector_stores_pb.ts';
import {
  type Bench,
  type Case,
  exchange,
  invalid,
  type Json,
  type JsonObject,
  runCases,
  startBench,
} from './runner.ts';

let bench: Bench;
test.before(async () => {
  bench = await startBench();
});
test.after.always(() => bench?.close());

const { createImage } = ImagesService.method;
const { createSpeech } = AudioService.method;
const { createBatch } = BatchesService.method;
const { createUpload } = UploadsService.method;
const { createFineTuningJob } = FineTuningService.method;
const { createVectorStore, listVectorStoreFiles, searchVectorStore } = VectorStoresService.method;
const { createContainer } = ContainersService.method;

const image = (model: string, more: JsonObject = {}): JsonObject => ({ model, prompt: 'a lamp', ...more });
const SPEECH = { model: 'tts', input: 'hi', voice: 'alloy' };
const BATCH = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' };
const UPLOAD = { filename: 'a', purpose: 'batch', bytes: 5, mime_type: 'text/plain' };
const JOB = { model: 'm', training_file: 'file-1' };
const text = (length: number): string => 'a'.repeat(length);

/** A request that OpenAI does not take, and the member. */
const WORDS: readonly (readonly [DescMethod, string, JsonObject])[] = [
  [createImage, 'size', image('gpt-image-2', { size: 'wide' })],
  [createImage, 'size', image('dall-e-2', { size: '1792x1024' })],
  [createImage, 'size', image('dall-e-3', { size: '512x512' })],
  [createImage, 'quality', image('gpt-image-1', { quality: 'best' })],
  [createImage, 'quality', image('gpt-image-1', { quality: 'hd' })],
  [createImage, 'quality', image('dall-e-3', { quality: 'low' })],
  [createImage, 'quality', image('dall-e-2', { quality: 'hd' })],
  [createImage, 'prompt', image('dall-e-2', { prompt: text(1001) })],
  [createImage, 'prompt', image('dall-e-3', { prompt: text(4001) })],
  [createImage, 'n', image('dall-e-3', { n: 2 })],
  [createImage, 'style', image('dall-e-3', { style: 'odd' })],
  [createImage, 'response_format', image('dall-e-3', { response_format: 'png' })],
  [createImage, 'background', image('gpt-image-1', { background: 'red' })],
  [createImage, 'moderation', image('gpt-image-1', { moderation: 'high' })],
  [createImage, 'output_format', image('gpt-image-1', { output_format: 'gif' })],
  [createSpeech, 'voice', { model: 'tts', input: 'hi' }],
  [createSpeech, 'response_format', { ...SPEECH, response_format: 'ogg' }],
  [createSpeech, 'stream_format', { ...SPEECH, stream_format: 'ndjson' }],
  [createBatch, 'endpoint', { ...BATCH, endpoint: '/v1/rerank' }],
  [createBatch, 'completion_window', { ...BATCH, completion_window: '48h' }],
  [createUpload, 'purpose', { ...UPLOAD, purpose: 'fun' }],
  [createFineTuningJob, 'training_file', { model: 'm' }],
  [createFineTuningJob, 'method.type', { ...JOB, method: { type: 'distil' } }],
  [createFineTuningJob, 'hyperparameters.n_epochs', { ...JOB, hyperparameters: { n_epochs: 'many' } }],
  [
    createFineTuningJob,
    'method.dpo.hyperparameters.beta',
    { ...JOB, method: { type: 'dpo', dpo: { hyperparameters: { beta: 'low' } } } },
  ],
  [
    createFineTuningJob,
    'method.reinforcement.hyperparameters.reasoning_effort',
    {
      ...JOB,
      method: { type: 'reinforcement', reinforcement: { hyperparameters: { reasoning_effort: 'max' } } },
    },
  ],
  [createVectorStore, 'chunking_strategy.type', { chunking_strategy: { type: 'by-page' } }],
  [listVectorStoreFiles, 'filter', { vector_store_id: 'vs_1', filter: 'odd' }],
  [
    searchVectorStore,
    'ranking_options.ranker',
    { vector_store_id: 'vs_1', query: 'a', ranking_options: { ranker: 'odd' } },
  ],
  [createContainer, 'memory_limit', { name: 'c', memory_limit: '2g' }],
];

const named = (method: DescMethod, field: string, i: number): string => `${method.name}: ${field} (${i})`;

runCases(
  test,
  () => bench,
  WORDS.map(
    ([method, field, body], i): Case => ({
      name: `${named(method, field, i)} is refused for OpenAI`,
      method,
      body,
      refused: invalid(field),
    }),
  ),
);

for (const [i, [method, field, body]] of WORDS.entries())
  test(`${named(method, field, i)} passes to another provider`, async (t) => {
    const prefix = bench.mark();
    const headers = { 'x-gateway-provider': 'openai-compatible' };
    await exchange(bench, { method, headers, body }, 'rest', prefix);
    const [seen] = bench.sentTo(prefix);
    t.truthy(seen);
    if (seen!.method !== 'POST') return;
    const { vector_store_id: _inPath, ...members } = body;
    t.deepEqual(JSON.parse(seen!.body.toString()), members);
  });

interface FormCase {
  readonly path: string;
  readonly file: string;
  readonly texts: Readonly<Record<string, string>>;
  readonly field: string;
  /** Values that are refused everywhere, and such as OpenAI alone does not take. */
  readonly refused: readonly string[];
  readonly words?: readonly string[];
}

const EDIT = { path: '/images/edits', file: 'image', texts: { model: 'gpt-image-1', prompt: 'a hat' } };
const VARIATION = { path: '/images/variations', file: 'image', texts: { model: 'dall-e-2' } };
const HEARD = { path: '/audio/transcriptions', file: 'file', texts: { model: 'whisper-1' } };
const SAID = { path: '/audio/translations', file: 'file', texts: { model: 'whisper-1' } };
const UPLOADED = { path: '/files', file: 'file', texts: { purpose: 'batch' } };
const FILMED = { path: '/videos', file: 'input_reference', texts: { model: 'sora-2', prompt: 'a lamp' } };

const FORMS: readonly FormCase[] = [
  { ...EDIT, field: 'prompt', refused: ['', text(32_001)] },
  { ...EDIT, field: 'n', refused: ['0', '11', '1.5', 'x'] },
  { ...EDIT, field: 'size', refused: [text(65)], words: ['wide', '512x512'] },
  { ...EDIT, field: 'quality', refused: [text(65)], words: ['best', 'hd'] },
  { ...EDIT, field: 'background', refused: [], words: ['red'] },
  { ...EDIT, field: 'output_compression', refused: ['-1', '101'] },
  { ...EDIT, field: 'partial_images', refused: ['-1', '4'] },
  { ...EDIT, field: 'input_fidelity', refused: [], words: ['some'] },
  { ...VARIATION, field: 'n', refused: ['0', '11'] },
  { ...VARIATION, field: 'size', refused: [], words: ['1792x1024'] },
  { ...VARIATION, field: 'response_format', refused: [], words: ['png'] },
  { ...HEARD, field: 'temperature', refused: ['-0.1', '1.1', 'hot'] },
  { ...HEARD, field: 'response_format', refused: [''], words: ['xml'] },
  { ...HEARD, field: 'timestamp_granularities[]', refused: [], words: ['letter'] },
  { ...HEARD, field: 'include[]', refused: [], words: ['odd'] },
  { ...SAID, field: 'temperature', refused: ['-0.1', '1.1'] },
  { ...SAID, field: 'response_format', refused: [''], words: ['diarized_json'] },
  { ...UPLOADED, field: 'purpose', refused: ['', text(65)], words: ['fun'] },
  { ...UPLOADED, field: 'expires_after[seconds]', refused: ['3599', '2592001'] },
  { ...UPLOADED, field: 'expires_after[anchor]', refused: ['last_active_at'] },
  { ...FILMED, field: 'prompt', refused: ['', text(32_001)] },
  { ...FILMED, field: 'seconds', refused: ['0', '-4', 'x', '36000'], words: ['5'] },
  { ...FILMED, field: 'size', refused: [text(65)], words: ['1x1'] },
];

const memberOf = (field: string): string => field.replace('[]', '').replace(/\[(\w+)\]/, '.$1');

/** A form whose member is wrong, in front of the file or after it. */
function formOf({ file, texts, field }: FormCase, value: string, isBefore: boolean): FormData {
  const form = new FormData();
  const put = (): void => {
    form.append(field, value);
    if (field === 'expires_after[seconds]') form.append('expires_after[anchor]', 'created_at');
    if (field === 'expires_after[anchor]') form.append('expires_after[seconds]', '3600');
  };
  if (isBefore) put();
  for (const [name, one] of Object.entries(texts)) if (name !== field) form.append(name, one);
  form.append(file, new Blob([new Uint8Array(20_000)]), 'a.bin');
  if (!isBefore) put();
  return form;
}

async function sendForm(prefix: string, provider: string, path: string, body: FormData) {
  const { 'content-type': _json, ...headers } = bench.headers(prefix);
  const answer = await fetch(`${bench.gateway.origin}/v1${path}`, {
    method: 'POST',
    headers: { ...headers, 'x-gateway-provider': provider },
    body,
  });
  const json = (await answer.json()) as { readonly error?: { readonly param?: Json } };
  return { status: answer.status, param: json.error?.param };
}

for (const one of FORMS)
  for (const [values, provider] of [
    [one.refused, 'openai-compatible'],
    [[...one.refused, ...(one.words ?? [])], 'openai'],
  ] as const)
    for (const value of values)
      test(`POST ${one.path}: ${one.field} of ${value.slice(0, 20)} (${value.length}), ${provider}`, async (t) => {
        for (const isBefore of [true, false]) {
          const prefix = bench.mark();
          const { status, param } = await sendForm(prefix, provider, one.path, formOf(one, value, isBefore));
          t.is(status, 400);
          t.regex(String(param), new RegExp(`^${memberOf(one.field).replace('.', '\\.')}(?:\\[0\\])?$`));
          // A form that is wrong in front of the file never reaches the provider; one that is wrong after it is cut.
          t.is(bench.sentTo(prefix).length, 0);
        }
      });

for (const { words = [], ...one } of FORMS)
  for (const value of words)
    test(`POST ${one.path}: ${one.field} of ${value} passes to another provider`, async (t) => {
      const prefix = bench.mark();
      await sendForm(prefix, 'openai-compatible', one.path, formOf({ ...one }, value, true));
      const [seen] = bench.sentTo(prefix);
      const type = String(seen!.headers['content-type']);
      const form = await new Response(new Uint8Array(seen!.body), {
        headers: { 'content-type': type },
      }).formData();
      t.deepEqual(form.getAll(one.field), [value]);
    });
