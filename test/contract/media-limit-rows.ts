// Every published limit of images, audio, files, uploads, batches, fine-tuning, vector stores, assistants, OCR, videos and
// containers: values beyond it, and values at it.
import type { DescMethod } from '@bufbuild/protobuf';
import { AssistantsService } from '../../gen/gateway/inference/v2/assistants_pb.ts';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { ContainersService } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { FilesService } from '../../gen/gateway/inference/v2/files_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { UploadsService } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { VectorStoresService } from '../../gen/gateway/inference/v2/vector_stores_pb.ts';
import { VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';
import type { Json, JsonObject } from './runner.ts';

const { createImage } = ImagesService.method;
const { createSpeech, listVoices } = AudioService.method;
const { createBatch, listBatches } = BatchesService.method;
const { createUpload, completeUpload } = UploadsService.method;
const { createFineTuningJob, listFineTuningJobs, listFineTuningEvents } = FineTuningService.method;
const stores = VectorStoresService.method;
const assistants = AssistantsService.method;
const { listVideos, remixVideo } = VideosService.method;
const { createContainer, listContainers } = ContainersService.method;
const { createOcr } = OcrService.method;
const { listFiles } = FilesService.method;

const text = (length: number): string => 'a'.repeat(length);
const items = <T>(length: number, of: T): T[] => Array.from({ length }, () => of);
const pairs = (count: number): JsonObject =>
  Object.fromEntries(Array.from({ length: count }, (_, i) => [`name-${i}`, 'text']));
export const at = (path: string, value: Json): JsonObject => {
  const [first = '', ...rest] = path.split('.');
  return { [first]: rest.length === 0 ? value : at(rest.join('.'), value) };
};

const IMAGE = { model: 'painter', prompt: 'a lamp' };
const SPEECH = { model: 'tts', input: 'hi', voice: 'alloy' };
const BATCH = { input_file_id: 'file-1', endpoint: '/v1/chat/completions', completion_window: '24h' };
const UPLOAD = { filename: 'a', purpose: 'batch', bytes: 5, mime_type: 'text/plain' };
const JOB = { model: 'm', training_file: 'file-1' };
const STORE = { vector_store_id: 'vs_1' };
const FILE = { ...STORE, file_id: 'file-1' };
const FILE_BATCH = { ...STORE, file_ids: ['file-1'] };
const SEARCH = { ...STORE, query: 'a' };
const RUN = { thread_id: 't', assistant_id: 'a' };
const CONTAINER = { name: 'c' };
const OCR = { model: 'ocr', document: { type: 'document_url', document_url: 'https://docs.example/a' } };

/** Values of a member: refused ones, then ones that pass. */
export type Row = readonly [DescMethod, JsonObject, string, readonly Json[], readonly Json[]];

const METADATA: readonly Json[] = [pairs(17), { [text(65)]: 'a' }, { a: text(513) }, { a: 1 }, { a: null }];
const METADATA_OK: readonly Json[] = [{}, pairs(16), { [text(64)]: text(512) }];
const ATTRIBUTES: readonly Json[] = [pairs(17), { [text(65)]: 'a' }, { a: text(513) }, { a: [] }, { a: {} }];
const ATTRIBUTES_OK: readonly Json[] = [pairs(16), { a: text(512), b: 1.5, c: true }];
const LIMIT: readonly [readonly Json[], readonly Json[]] = [
  [0, -1, 101],
  [1, 100],
];
const ORDER: readonly [readonly Json[], readonly Json[]] = [['up'], ['asc', 'desc']];
const chunks = (size: number, overlap: number): JsonObject => ({
  type: 'static',
  static: { max_chunk_size_tokens: size, chunk_overlap_tokens: overlap },
});
const SAMPLING = (method: DescMethod, body: JsonObject): Row[] => [
  [method, body, 'temperature', [-0.1, 2.1], [0, 2]],
  [method, body, 'top_p', [-0.1, 1.1], [0, 1]],
];

export const ROWS: readonly Row[] = [
  [createImage, IMAGE, 'prompt', ['', text(32_001)], [text(32_000)]],
  [createImage, IMAGE, 'n', [0, 11, -1], [1, 10]],
  [createImage, IMAGE, 'size', ['', text(65)], ['auto', '1024x1024']],
  [createImage, IMAGE, 'output_compression', [-1, 101], [0, 100]],
  [createImage, IMAGE, 'partial_images', [-1, 4], [0, 3]],
  [createSpeech, SPEECH, 'input', ['', text(4097)], [text(4096), 'ü'.repeat(4096)]],
  [createSpeech, SPEECH, 'instructions', [text(4097)], [text(4096)]],
  [createSpeech, SPEECH, 'speed', [0.24, 4.01, 0], [0.25, 4]],
  [listVoices, {}, 'limit', [0, 1001], []],
  [listFiles, {}, 'limit', [0, 10_001], [1, 10_000]],
  [listFiles, {}, 'order', ...ORDER],
  [createUpload, UPLOAD, 'bytes', [0, -1, 8_589_934_593], [1, 8_589_934_592]],
  [createUpload, UPLOAD, 'filename', ['', text(1025)], [text(1024)]],
  [createUpload, UPLOAD, 'mime_type', ['', text(256)], [text(255)]],
  [
    createUpload,
    { ...UPLOAD, expires_after: { anchor: 'created_at', seconds: 3600 } },
    'expires_after.seconds',
    [3599, 2_592_001],
    [3600, 2_592_000],
  ],
  [
    createUpload,
    { ...UPLOAD, expires_after: { anchor: 'created_at', seconds: 3600 } },
    'expires_after.anchor',
    ['last_active_at'],
    ['created_at'],
  ],
  [completeUpload, { upload_id: 'upload_1', part_ids: ['p'] }, 'part_ids', [[]], [['p']]],
  [createBatch, BATCH, 'metadata', METADATA, METADATA_OK],
  [createBatch, BATCH, 'endpoint', ['chat', ''], ['/v1/chat/completions']],
  [
    createBatch,
    { ...BATCH, output_expires_after: { anchor: 'created_at', seconds: 3600 } },
    'output_expires_after.seconds',
    [3599, 2_592_001],
    [3600, 2_592_000],
  ],
  [listBatches, {}, 'limit', ...LIMIT],
  [createFineTuningJob, JOB, 'suffix', ['', text(65)], [text(64)]],
  [createFineTuningJob, JOB, 'seed', [-1, 2_147_483_648], [0, 2_147_483_647]],
  [createFineTuningJob, JOB, 'metadata', METADATA, METADATA_OK],
  ...[
    'hyperparameters',
    'method.supervised.hyperparameters',
    'method.dpo.hyperparameters',
    'method.reinforcement.hyperparameters',
  ].flatMap((path): Row[] => [
    [createFineTuningJob, JOB, `${path}.n_epochs`, [0, 51], [1, 50, 'auto']],
    [createFineTuningJob, JOB, `${path}.batch_size`, [0, 257], [1, 256, 'auto']],
    [createFineTuningJob, JOB, `${path}.learning_rate_multiplier`, [0, -1], [0.01, 'auto']],
    [createFineTuningJob, JOB, `${path}.beta`, [0, 2.1], [2, 'auto']],
    [createFineTuningJob, JOB, `${path}.compute_multiplier`, [0.00001, 10.1], [0.0001, 10, 'auto']],
    [createFineTuningJob, JOB, `${path}.eval_interval`, [0], [1, 'auto']],
    [createFineTuningJob, JOB, `${path}.eval_samples`, [0], [1, 'auto']],
  ]),
  [listFineTuningJobs, {}, 'limit', ...LIMIT],
  [listFineTuningEvents, { fine_tuning_job_id: 'j' }, 'limit', ...LIMIT],
  [stores.createVectorStore, {}, 'file_ids', [items(501, 'f'), ['']], [items(500, 'f')]],
  [stores.createVectorStore, {}, 'metadata', METADATA, METADATA_OK],
  [
    stores.createVectorStore,
    { expires_after: { anchor: 'last_active_at', days: 1 } },
    'expires_after.days',
    [0, 366],
    [1, 365],
  ],
  [
    stores.createVectorStore,
    { expires_after: { anchor: 'last_active_at', days: 1 } },
    'expires_after.anchor',
    ['created_at'],
    ['last_active_at'],
  ],
  ...[stores.createVectorStore, stores.createVectorStoreFile, stores.createVectorStoreFileBatch].flatMap(
    (method): Row[] => {
      const body =
        method === stores.createVectorStore
          ? {}
          : method === stores.createVectorStoreFile
            ? FILE
            : FILE_BATCH;
      const size = 'chunking_strategy.static.max_chunk_size_tokens';
      const overlap = 'chunking_strategy.static.chunk_overlap_tokens';
      return [
        [method, { ...body, chunking_strategy: chunks(800, 0) }, size, [99, 4097], [100, 4096]],
        [method, { ...body, chunking_strategy: chunks(800, 0) }, overlap, [-1, 401], [0, 400]],
      ];
    },
  ),
  [stores.updateVectorStore, STORE, 'metadata', METADATA, METADATA_OK],
  [stores.listVectorStores, {}, 'limit', ...LIMIT],
  [stores.listVectorStores, {}, 'order', ...ORDER],
  [stores.searchVectorStore, SEARCH, 'query', [''], ['a', ['a', 'b']]],
  [stores.searchVectorStore, SEARCH, 'max_num_results', [0, 51], [1, 50]],
  [stores.searchVectorStore, SEARCH, 'ranking_options.score_threshold', [-0.1, 1.1], [0, 1]],
  [stores.createVectorStoreFile, FILE, 'attributes', ATTRIBUTES, ATTRIBUTES_OK],
  [stores.updateVectorStoreFile, FILE, 'attributes', ATTRIBUTES, ATTRIBUTES_OK],
  [stores.listVectorStoreFiles, STORE, 'limit', ...LIMIT],
  [stores.createVectorStoreFileBatch, FILE_BATCH, 'file_ids', [items(2001, 'f'), []], [items(2000, 'f')]],
  [stores.createVectorStoreFileBatch, FILE_BATCH, 'attributes', ATTRIBUTES, ATTRIBUTES_OK],
  [stores.createVectorStoreFileBatch, STORE, 'files', [items(2001, { file_id: 'f' })], [[{ file_id: 'f' }]]],
  [stores.listVectorStoreFileBatchFiles, { ...STORE, batch_id: 'b' }, 'limit', ...LIMIT],
  ...SAMPLING(assistants.createAssistant, { model: 'm' }),
  [assistants.createAssistant, { model: 'm' }, 'name', [text(257)], [text(256)]],
  [assistants.createAssistant, { model: 'm' }, 'description', [text(513)], [text(512)]],
  [assistants.createAssistant, { model: 'm' }, 'instructions', [text(256_001)], [text(256_000)]],
  [
    assistants.createAssistant,
    { model: 'm' },
    'tools',
    [items(129, { type: 'x' })],
    [items(128, { type: 'x' })],
  ],
  [assistants.createAssistant, { model: 'm' }, 'metadata', METADATA, METADATA_OK],
  [
    assistants.createAssistant,
    { model: 'm' },
    'tool_resources.code_interpreter.file_ids',
    [items(21, 'f')],
    [items(20, 'f')],
  ],
  [assistants.createThread, {}, 'tool_resources.file_search.vector_store_ids', [['a', 'b']], [['a']]],
  ...SAMPLING(assistants.createRun, RUN),
  [assistants.createRun, RUN, 'max_prompt_tokens', [255], [256]],
  [assistants.createRun, RUN, 'max_completion_tokens', [255], [256]],
  [assistants.listRuns, { thread_id: 't' }, 'limit', ...LIMIT],
  [listVideos, {}, 'limit', ...LIMIT],
  [remixVideo, { video_id: 'v', prompt: 'a' }, 'prompt', ['', text(32_001)], []],
  [
    createContainer,
    { ...CONTAINER, expires_after: { anchor: 'last_active_at', minutes: 1 } },
    'expires_after.minutes',
    [0],
    [20],
  ],
  [listContainers, {}, 'limit', ...LIMIT],
  [createOcr, OCR, 'image_limit', [-1], []],
  [createOcr, OCR, 'image_min_size', [-1], []],
];

/** The body with a change of some members of its objects. */
export function merged(body: JsonObject, change: JsonObject): JsonObject {
  const out: JsonObject = { ...body };
  for (const [name, value] of Object.entries(change)) {
    const known = out[name];
    out[name] = isObject(known) && isObject(value) ? merged(known, value) : value;
  }
  return out;
}
export function isObject(value: Json | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
