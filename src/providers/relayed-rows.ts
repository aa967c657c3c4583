// Rows of operations that are relayed as they are: their verbs, paths and messages are the contract's own.
import type { DescMessage, DescMethodUnary } from '@bufbuild/protobuf';
import { AssistantsService } from '../../gen/gateway/inference/v2/assistants_pb.ts';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import {
  ContainerFileHeadSchema,
  ContainerFileSchema,
  ContainersService,
  GetContainerFileContentRequestSchema,
} from '../../gen/gateway/inference/v2/containers_pb.ts';
import { ConversationsService } from '../../gen/gateway/inference/v2/conversations_pb.ts';
import {
  FileSchema,
  FilesService,
  GetFileContentRequestSchema,
  UploadFileHeadSchema,
} from '../../gen/gateway/inference/v2/files_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import {
  AddUploadPartHeadSchema,
  UploadPartSchema,
  UploadsService,
} from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { VectorStoresService } from '../../gen/gateway/inference/v2/vector_stores_pb.ts';
import { GetVideoContentRequestSchema, VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';

/** What the rows have in common. */
const COMMON = {
  makesTokens: false,
  counted: false,
  needsModel: false,
  cached: false,
  idempotent: false,
  view: 'other',
  listed: true,
} as const;

/** A row of a method whose name is the operation's. @param requestType as guardrails name it, where that is another name */
function relay<Q extends DescMessage, A extends DescMessage>(
  rpc: DescMethodUnary<Q, A>,
  path: string,
  hasBody = false,
  requestType: string = rpc.localName,
) {
  const { input: request, output: answer, name, localName } = rpc;
  const genAiName = snakeCase(localName);
  return { ...COMMON, request, answer, rpc, path, methods: [name], requestType, genAiName, hasBody };
}

function streamed<Q extends DescMessage, A extends DescMessage>(
  [request, answer]: readonly [Q, A],
  path: string,
  methods: readonly [string, ...string[]],
  requestType: string,
  hasBody = false,
) {
  const genAiName = snakeCase(methods[0].replace(/^./, (letter) => letter.toLowerCase()));
  return { ...COMMON, request, answer, path, methods, requestType, genAiName, hasBody };
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

const files = FilesService.method;
const uploads = UploadsService.method;
const batches = BatchesService.method;
const fineTuning = FineTuningService.method;
const vectorStores = VectorStoresService.method;
const assistants = AssistantsService.method;
const videos = VideosService.method;
const containers = ContainersService.method;
const conversations = ConversationsService.method;

const FILE_ROWS = {
  listFiles: relay(files.listFiles, '/v1/files'),
  getFile: relay(files.getFile, '/v1/files', false, 'retrieveFile'),
  deleteFile: relay(files.deleteFile, '/v1/files'),
};

const UPLOAD_ROWS = {
  createUpload: relay(uploads.createUpload, '/v1/uploads', true),
  completeUpload: relay(uploads.completeUpload, '/v1/uploads', true),
  cancelUpload: relay(uploads.cancelUpload, '/v1/uploads'),
};

const BATCH_ROWS = {
  createBatch: relay(batches.createBatch, '/v1/batches', true),
  listBatches: relay(batches.listBatches, '/v1/batches'),
  getBatch: relay(batches.getBatch, '/v1/batches', false, 'retrieveBatch'),
  cancelBatch: relay(batches.cancelBatch, '/v1/batches'),
};

const FINE_TUNING_ROWS = {
  createFineTuningJob: relay(fineTuning.createFineTuningJob, '/v1/fine_tuning/jobs', true, 'createFinetune'),
  listFineTuningJobs: relay(fineTuning.listFineTuningJobs, '/v1/fine_tuning/jobs', false, 'listFinetunes'),
  getFineTuningJob: relay(fineTuning.getFineTuningJob, '/v1/fine_tuning/jobs', false, 'retrieveFinetune'),
  cancelFineTuningJob: relay(fineTuning.cancelFineTuningJob, '/v1/fine_tuning/jobs', false, 'cancelFinetune'),
  pauseFineTuningJob: relay(fineTuning.pauseFineTuningJob, '/v1/fine_tuning/jobs'),
  resumeFineTuningJob: relay(fineTuning.resumeFineTuningJob, '/v1/fine_tuning/jobs'),
  listFineTuningEvents: relay(fineTuning.listFineTuningEvents, '/v1/fine_tuning/jobs'),
  listFineTuningCheckpoints: relay(fineTuning.listFineTuningCheckpoints, '/v1/fine_tuning/jobs'),
};

const VECTOR_STORE_ROWS = {
  createVectorStore: relay(vectorStores.createVectorStore, '/v1/vector_stores', true),
  listVectorStores: relay(vectorStores.listVectorStores, '/v1/vector_stores'),
  getVectorStore: relay(vectorStores.getVectorStore, '/v1/vector_stores'),
  updateVectorStore: relay(vectorStores.updateVectorStore, '/v1/vector_stores', true),
  deleteVectorStore: relay(vectorStores.deleteVectorStore, '/v1/vector_stores'),
  searchVectorStore: relay(vectorStores.searchVectorStore, '/v1/vector_stores', true),
  createVectorStoreFile: relay(vectorStores.createVectorStoreFile, '/v1/vector_stores', true),
  listVectorStoreFiles: relay(vectorStores.listVectorStoreFiles, '/v1/vector_stores'),
  getVectorStoreFile: relay(vectorStores.getVectorStoreFile, '/v1/vector_stores'),
  updateVectorStoreFile: relay(vectorStores.updateVectorStoreFile, '/v1/vector_stores', true),
  deleteVectorStoreFile: relay(vectorStores.deleteVectorStoreFile, '/v1/vector_stores'),
  getVectorStoreFileContent: relay(vectorStores.getVectorStoreFileContent, '/v1/vector_stores'),
  createVectorStoreFileBatch: relay(vectorStores.createVectorStoreFileBatch, '/v1/vector_stores', true),
  getVectorStoreFileBatch: relay(vectorStores.getVectorStoreFileBatch, '/v1/vector_stores'),
  cancelVectorStoreFileBatch: relay(vectorStores.cancelVectorStoreFileBatch, '/v1/vector_stores'),
  listVectorStoreFileBatchFiles: relay(vectorStores.listVectorStoreFileBatchFiles, '/v1/vector_stores'),
};

const ASSISTANT_ROWS = {
  createAssistant: relay(assistants.createAssistant, '/v1/assistants', true),
  listAssistants: relay(assistants.listAssistants, '/v1/assistants'),
  getAssistant: relay(assistants.getAssistant, '/v1/assistants'),
  updateAssistant: relay(assistants.updateAssistant, '/v1/assistants', true),
  deleteAssistant: relay(assistants.deleteAssistant, '/v1/assistants'),
  createThread: relay(assistants.createThread, '/v1/assistants', true),
  getThread: relay(assistants.getThread, '/v1/assistants'),
  updateThread: relay(assistants.updateThread, '/v1/assistants', true),
  deleteThread: relay(assistants.deleteThread, '/v1/assistants'),
  createThreadAndRun: relay(assistants.createThreadAndRun, '/v1/assistants', true),
  createThreadMessage: relay(assistants.createThreadMessage, '/v1/assistants', true),
  listThreadMessages: relay(assistants.listThreadMessages, '/v1/assistants'),
  getThreadMessage: relay(assistants.getThreadMessage, '/v1/assistants'),
  updateThreadMessage: relay(assistants.updateThreadMessage, '/v1/assistants', true),
  deleteThreadMessage: relay(assistants.deleteThreadMessage, '/v1/assistants'),
  createRun: relay(assistants.createRun, '/v1/assistants', true),
  listRuns: relay(assistants.listRuns, '/v1/assistants'),
  getRun: relay(assistants.getRun, '/v1/assistants'),
  updateRun: relay(assistants.updateRun, '/v1/assistants', true),
  cancelRun: relay(assistants.cancelRun, '/v1/assistants'),
  submitToolOutputs: relay(assistants.submitToolOutputs, '/v1/assistants', true),
  listRunSteps: relay(assistants.listRunSteps, '/v1/assistants'),
  getRunStep: relay(assistants.getRunStep, '/v1/assistants'),
};

const VIDEO_ROWS = {
  listVideos: relay(videos.listVideos, '/v1/videos'),
  getVideo: relay(videos.getVideo, '/v1/videos'),
  deleteVideo: relay(videos.deleteVideo, '/v1/videos'),
};

const CONTAINER_ROWS = {
  createContainer: relay(containers.createContainer, '/v1/containers', true),
  listContainers: relay(containers.listContainers, '/v1/containers'),
  getContainer: relay(containers.getContainer, '/v1/containers'),
  deleteContainer: relay(containers.deleteContainer, '/v1/containers'),
  listContainerFiles: relay(containers.listContainerFiles, '/v1/containers'),
  getContainerFile: relay(containers.getContainerFile, '/v1/containers'),
  deleteContainerFile: relay(containers.deleteContainerFile, '/v1/containers'),
};

const CONVERSATION_ROWS = {
  createConversation: relay(conversations.createConversation, '/v1/conversations', true),
  getConversation: relay(conversations.getConversation, '/v1/conversations'),
  updateConversation: relay(conversations.updateConversation, '/v1/conversations', true),
  deleteConversation: relay(conversations.deleteConversation, '/v1/conversations'),
  listConversationItems: relay(conversations.listConversationItems, '/v1/conversations'),
  createConversationItems: relay(conversations.createConversationItems, '/v1/conversations', true),
  getConversationItem: relay(conversations.getConversationItem, '/v1/conversations'),
  deleteConversationItem: relay(conversations.deleteConversationItem, '/v1/conversations'),
};

/** Those that `relayed.ts` can say in any wire of OpenAI's form. */
export const RELAYED = {
  ...FILE_ROWS,
  ...UPLOAD_ROWS,
  ...BATCH_ROWS,
  ...FINE_TUNING_ROWS,
  ...VECTOR_STORE_ROWS,
  ...ASSISTANT_ROWS,
  ...VIDEO_ROWS,
  ...CONTAINER_ROWS,
  ...CONVERSATION_ROWS,
} as const;

/** Those of files whose bytes stream: they have code of their own. */
export const STREAMED = {
  uploadFile: streamed([UploadFileHeadSchema, FileSchema], '/v1/files', ['UploadFile'], 'uploadFile', true),
  addUploadPart: streamed(
    [AddUploadPartHeadSchema, UploadPartSchema],
    '/v1/uploads',
    ['AddUploadPart'],
    'addUploadPart',
    true,
  ),
  fileContent: streamed(
    [GetFileContentRequestSchema, FileSchema],
    '/v1/files',
    ['GetFileContent', 'GetBatchOutput'],
    'retrieveFileContent',
  ),
  createContainerFile: streamed(
    [ContainerFileHeadSchema, ContainerFileSchema],
    '/v1/containers',
    ['CreateContainerFile'],
    'createContainerFile',
    true,
  ),
  containerFileContent: streamed(
    [GetContainerFileContentRequestSchema, ContainerFileSchema],
    '/v1/containers',
    ['GetContainerFileContent'],
    'retrieveContainerFileContent',
  ),
  videoContent: streamed(
    [GetVideoContentRequestSchema, FileSchema],
    '/v1/videos',
    ['GetVideoContent'],
    'retrieveVideoContent',
  ),
} as const;

export type RelayedName = keyof typeof RELAYED;
export const RELAYED_NAMES = namesOf(RELAYED);

function namesOf<T extends object>(rows: T): readonly (keyof T)[] {
  return Object.keys(rows) as (keyof T)[];
}

export const FILES = ['uploadFile', 'fileContent', ...namesOf(FILE_ROWS)] as const;
export const UPLOADS = ['addUploadPart', ...namesOf(UPLOAD_ROWS)] as const;
export const VIDEOS = ['createVideo', 'remixVideo', 'videoContent', ...namesOf(VIDEO_ROWS)] as const;
export const RELAYED_CONTAINERS = namesOf(CONTAINER_ROWS);
export const CONTAINERS = ['createContainerFile', 'containerFileContent', ...RELAYED_CONTAINERS] as const;
export const CONVERSATIONS = namesOf(CONVERSATION_ROWS);
export const BATCHES = namesOf(BATCH_ROWS);
export const FINE_TUNING = namesOf(FINE_TUNING_ROWS);
export const VECTOR_STORES = namesOf(VECTOR_STORE_ROWS);
export const ASSISTANTS = namesOf(ASSISTANT_ROWS);
