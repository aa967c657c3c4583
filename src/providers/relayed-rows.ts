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

function relay<Q extends DescMessage, A extends DescMessage>(
  rpc: DescMethodUnary<Q, A>,
  path: string,
  requestType: string,
  genAiName: string,
  hasBody = false,
) {
  const { input: request, output: answer, name } = rpc;
  return { ...COMMON, request, answer, rpc, path, methods: [name], requestType, genAiName, hasBody };
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

/** Those that `relayed.ts` can say in any wire of OpenAI's form. */
export const RELAYED = {
  listFiles: relay(files.listFiles, '/v1/files', 'listFiles', 'list_files'),
  getFile: relay(files.getFile, '/v1/files', 'retrieveFile', 'get_file'),
  deleteFile: relay(files.deleteFile, '/v1/files', 'deleteFile', 'delete_file'),
  createUpload: relay(uploads.createUpload, '/v1/uploads', 'createUpload', 'create_upload', true),
  completeUpload: relay(uploads.completeUpload, '/v1/uploads', 'completeUpload', 'complete_upload', true),
  cancelUpload: relay(uploads.cancelUpload, '/v1/uploads', 'cancelUpload', 'cancel_upload'),
  createBatch: relay(batches.createBatch, '/v1/batches', 'createBatch', 'create_batch', true),
  listBatches: relay(batches.listBatches, '/v1/batches', 'listBatches', 'list_batches'),
  getBatch: relay(batches.getBatch, '/v1/batches', 'retrieveBatch', 'get_batch'),
  cancelBatch: relay(batches.cancelBatch, '/v1/batches', 'cancelBatch', 'cancel_batch'),
  createFineTuningJob: relay(
    fineTuning.createFineTuningJob,
    '/v1/fine_tuning/jobs',
    'createFinetune',
    'create_fine_tuning_job',
    true,
  ),
  listFineTuningJobs: relay(
    fineTuning.listFineTuningJobs,
    '/v1/fine_tuning/jobs',
    'listFinetunes',
    'list_fine_tuning_jobs',
  ),
  getFineTuningJob: relay(
    fineTuning.getFineTuningJob,
    '/v1/fine_tuning/jobs',
    'retrieveFinetune',
    'get_fine_tuning_job',
  ),
  cancelFineTuningJob: relay(
    fineTuning.cancelFineTuningJob,
    '/v1/fine_tuning/jobs',
    'cancelFinetune',
    'cancel_fine_tuning_job',
  ),
  pauseFineTuningJob: relay(
    fineTuning.pauseFineTuningJob,
    '/v1/fine_tuning/jobs',
    'pauseFineTuningJob',
    'pause_fine_tuning_job',
  ),
  resumeFineTuningJob: relay(
    fineTuning.resumeFineTuningJob,
    '/v1/fine_tuning/jobs',
    'resumeFineTuningJob',
    'resume_fine_tuning_job',
  ),
  listFineTuningEvents: relay(
    fineTuning.listFineTuningEvents,
    '/v1/fine_tuning/jobs',
    'listFineTuningEvents',
    'list_fine_tuning_events',
  ),
  listFineTuningCheckpoints: relay(
    fineTuning.listFineTuningCheckpoints,
    '/v1/fine_tuning/jobs',
    'listFineTuningCheckpoints',
    'list_fine_tuning_checkpoints',
  ),
  createVectorStore: relay(
    vectorStores.createVectorStore,
    '/v1/vector_stores',
    'createVectorStore',
    'create_vector_store',
    true,
  ),
  listVectorStores: relay(
    vectorStores.listVectorStores,
    '/v1/vector_stores',
    'listVectorStores',
    'list_vector_stores',
  ),
  getVectorStore: relay(
    vectorStores.getVectorStore,
    '/v1/vector_stores',
    'getVectorStore',
    'get_vector_store',
  ),
  updateVectorStore: relay(
    vectorStores.updateVectorStore,
    '/v1/vector_stores',
    'updateVectorStore',
    'update_vector_store',
    true,
  ),
  deleteVectorStore: relay(
    vectorStores.deleteVectorStore,
    '/v1/vector_stores',
    'deleteVectorStore',
    'delete_vector_store',
  ),
  searchVectorStore: relay(
    vectorStores.searchVectorStore,
    '/v1/vector_stores',
    'searchVectorStore',
    'search_vector_store',
    true,
  ),
  createVectorStoreFile: relay(
    vectorStores.createVectorStoreFile,
    '/v1/vector_stores',
    'createVectorStoreFile',
    'create_vector_store_file',
    true,
  ),
  listVectorStoreFiles: relay(
    vectorStores.listVectorStoreFiles,
    '/v1/vector_stores',
    'listVectorStoreFiles',
    'list_vector_store_files',
  ),
  getVectorStoreFile: relay(
    vectorStores.getVectorStoreFile,
    '/v1/vector_stores',
    'getVectorStoreFile',
    'get_vector_store_file',
  ),
  updateVectorStoreFile: relay(
    vectorStores.updateVectorStoreFile,
    '/v1/vector_stores',
    'updateVectorStoreFile',
    'update_vector_store_file',
    true,
  ),
  deleteVectorStoreFile: relay(
    vectorStores.deleteVectorStoreFile,
    '/v1/vector_stores',
    'deleteVectorStoreFile',
    'delete_vector_store_file',
  ),
  getVectorStoreFileContent: relay(
    vectorStores.getVectorStoreFileContent,
    '/v1/vector_stores',
    'getVectorStoreFileContent',
    'get_vector_store_file_content',
  ),
  createVectorStoreFileBatch: relay(
    vectorStores.createVectorStoreFileBatch,
    '/v1/vector_stores',
    'createVectorStoreFileBatch',
    'create_vector_store_file_batch',
    true,
  ),
  getVectorStoreFileBatch: relay(
    vectorStores.getVectorStoreFileBatch,
    '/v1/vector_stores',
    'getVectorStoreFileBatch',
    'get_vector_store_file_batch',
  ),
  cancelVectorStoreFileBatch: relay(
    vectorStores.cancelVectorStoreFileBatch,
    '/v1/vector_stores',
    'cancelVectorStoreFileBatch',
    'cancel_vector_store_file_batch',
  ),
  listVectorStoreFileBatchFiles: relay(
    vectorStores.listVectorStoreFileBatchFiles,
    '/v1/vector_stores',
    'listVectorStoreFileBatchFiles',
    'list_vector_store_file_batch_files',
  ),
  createAssistant: relay(
    assistants.createAssistant,
    '/v1/assistants',
    'createAssistant',
    'create_assistant',
    true,
  ),
  listAssistants: relay(assistants.listAssistants, '/v1/assistants', 'listAssistants', 'list_assistants'),
  getAssistant: relay(assistants.getAssistant, '/v1/assistants', 'getAssistant', 'get_assistant'),
  updateAssistant: relay(
    assistants.updateAssistant,
    '/v1/assistants',
    'updateAssistant',
    'update_assistant',
    true,
  ),
  deleteAssistant: relay(assistants.deleteAssistant, '/v1/assistants', 'deleteAssistant', 'delete_assistant'),
  createThread: relay(assistants.createThread, '/v1/assistants', 'createThread', 'create_thread', true),
  getThread: relay(assistants.getThread, '/v1/assistants', 'getThread', 'get_thread'),
  updateThread: relay(assistants.updateThread, '/v1/assistants', 'updateThread', 'update_thread', true),
  deleteThread: relay(assistants.deleteThread, '/v1/assistants', 'deleteThread', 'delete_thread'),
  createThreadAndRun: relay(
    assistants.createThreadAndRun,
    '/v1/assistants',
    'createThreadAndRun',
    'create_thread_and_run',
    true,
  ),
  createThreadMessage: relay(
    assistants.createThreadMessage,
    '/v1/assistants',
    'createThreadMessage',
    'create_thread_message',
    true,
  ),
  listThreadMessages: relay(
    assistants.listThreadMessages,
    '/v1/assistants',
    'listThreadMessages',
    'list_thread_messages',
  ),
  getThreadMessage: relay(
    assistants.getThreadMessage,
    '/v1/assistants',
    'getThreadMessage',
    'get_thread_message',
  ),
  updateThreadMessage: relay(
    assistants.updateThreadMessage,
    '/v1/assistants',
    'updateThreadMessage',
    'update_thread_message',
    true,
  ),
  deleteThreadMessage: relay(
    assistants.deleteThreadMessage,
    '/v1/assistants',
    'deleteThreadMessage',
    'delete_thread_message',
  ),
  createRun: relay(assistants.createRun, '/v1/assistants', 'createRun', 'create_run', true),
  listRuns: relay(assistants.listRuns, '/v1/assistants', 'listRuns', 'list_runs'),
  getRun: relay(assistants.getRun, '/v1/assistants', 'getRun', 'get_run'),
  updateRun: relay(assistants.updateRun, '/v1/assistants', 'updateRun', 'update_run', true),
  cancelRun: relay(assistants.cancelRun, '/v1/assistants', 'cancelRun', 'cancel_run'),
  submitToolOutputs: relay(
    assistants.submitToolOutputs,
    '/v1/assistants',
    'submitToolOutputs',
    'submit_tool_outputs',
    true,
  ),
  listRunSteps: relay(assistants.listRunSteps, '/v1/assistants', 'listRunSteps', 'list_run_steps'),
  getRunStep: relay(assistants.getRunStep, '/v1/assistants', 'getRunStep', 'get_run_step'),
  listVideos: relay(videos.listVideos, '/v1/videos', 'listVideos', 'list_videos'),
  getVideo: relay(videos.getVideo, '/v1/videos', 'getVideo', 'get_video'),
  deleteVideo: relay(videos.deleteVideo, '/v1/videos', 'deleteVideo', 'delete_video'),
  createContainer: relay(
    containers.createContainer,
    '/v1/containers',
    'createContainer',
    'create_container',
    true,
  ),
  listContainers: relay(containers.listContainers, '/v1/containers', 'listContainers', 'list_containers'),
  getContainer: relay(containers.getContainer, '/v1/containers', 'getContainer', 'get_container'),
  deleteContainer: relay(containers.deleteContainer, '/v1/containers', 'deleteContainer', 'delete_container'),
  listContainerFiles: relay(
    containers.listContainerFiles,
    '/v1/containers',
    'listContainerFiles',
    'list_container_files',
  ),
  getContainerFile: relay(
    containers.getContainerFile,
    '/v1/containers',
    'getContainerFile',
    'get_container_file',
  ),
  deleteContainerFile: relay(
    containers.deleteContainerFile,
    '/v1/containers',
    'deleteContainerFile',
    'delete_container_file',
  ),
  createConversation: relay(
    conversations.createConversation,
    '/v1/conversations',
    'createConversation',
    'create_conversation',
    true,
  ),
  getConversation: relay(
    conversations.getConversation,
    '/v1/conversations',
    'getConversation',
    'get_conversation',
  ),
  updateConversation: relay(
    conversations.updateConversation,
    '/v1/conversations',
    'updateConversation',
    'update_conversation',
    true,
  ),
  deleteConversation: relay(
    conversations.deleteConversation,
    '/v1/conversations',
    'deleteConversation',
    'delete_conversation',
  ),
  listConversationItems: relay(
    conversations.listConversationItems,
    '/v1/conversations',
    'listConversationItems',
    'list_conversation_items',
  ),
  createConversationItems: relay(
    conversations.createConversationItems,
    '/v1/conversations',
    'createConversationItems',
    'create_conversation_items',
    true,
  ),
  getConversationItem: relay(
    conversations.getConversationItem,
    '/v1/conversations',
    'getConversationItem',
    'get_conversation_item',
  ),
  deleteConversationItem: relay(
    conversations.deleteConversationItem,
    '/v1/conversations',
    'deleteConversationItem',
    'delete_conversation_item',
  ),
} as const;

/** Those of files whose bytes stream: they have code of their own. */
export const STREAMED = {
  uploadFile: {
    ...COMMON,
    request: UploadFileHeadSchema,
    answer: FileSchema,
    path: '/v1/files',
    methods: ['UploadFile'],
    requestType: 'uploadFile',
    genAiName: 'upload_file',
    hasBody: true,
  },
  addUploadPart: {
    ...COMMON,
    request: AddUploadPartHeadSchema,
    answer: UploadPartSchema,
    path: '/v1/uploads',
    methods: ['AddUploadPart'],
    requestType: 'addUploadPart',
    genAiName: 'add_upload_part',
    hasBody: true,
  },
  fileContent: {
    ...COMMON,
    request: GetFileContentRequestSchema,
    answer: FileSchema,
    path: '/v1/files',
    methods: ['GetFileContent', 'GetBatchOutput'],
    requestType: 'retrieveFileContent',
    genAiName: 'get_file_content',
    hasBody: false,
  },
  createContainerFile: {
    ...COMMON,
    request: ContainerFileHeadSchema,
    answer: ContainerFileSchema,
    path: '/v1/containers',
    methods: ['CreateContainerFile'],
    requestType: 'createContainerFile',
    genAiName: 'create_container_file',
    hasBody: true,
  },
  containerFileContent: {
    ...COMMON,
    request: GetContainerFileContentRequestSchema,
    answer: ContainerFileSchema,
    path: '/v1/containers',
    methods: ['GetContainerFileContent'],
    requestType: 'retrieveContainerFileContent',
    genAiName: 'get_container_file_content',
    hasBody: false,
  },
  videoContent: {
    ...COMMON,
    request: GetVideoContentRequestSchema,
    answer: FileSchema,
    path: '/v1/videos',
    methods: ['GetVideoContent'],
    requestType: 'retrieveVideoContent',
    genAiName: 'get_video_content',
    hasBody: false,
  },
} as const;

export type RelayedName = keyof typeof RELAYED;
export const RELAYED_NAMES = Object.keys(RELAYED) as readonly RelayedName[];

export const FILES = ['uploadFile', 'fileContent', 'listFiles', 'getFile', 'deleteFile'] as const;
export const UPLOADS = ['addUploadPart', 'createUpload', 'completeUpload', 'cancelUpload'] as const;
export const VIDEOS = [
  'createVideo',
  'remixVideo',
  'videoContent',
  'listVideos',
  'getVideo',
  'deleteVideo',
] as const;
export const CONTAINERS = [
  'createContainerFile',
  'containerFileContent',
  'createContainer',
  'listContainers',
  'getContainer',
  'deleteContainer',
  'listContainerFiles',
  'getContainerFile',
  'deleteContainerFile',
] as const;
export const CONVERSATIONS = [
  'createConversation',
  'getConversation',
  'updateConversation',
  'deleteConversation',
  'listConversationItems',
  'createConversationItems',
  'getConversationItem',
  'deleteConversationItem',
] as const;
export const BATCHES = ['createBatch', 'listBatches', 'getBatch', 'cancelBatch'] as const;
export const FINE_TUNING = [
  'createFineTuningJob',
  'listFineTuningJobs',
  'getFineTuningJob',
  'cancelFineTuningJob',
  'pauseFineTuningJob',
  'resumeFineTuningJob',
  'listFineTuningEvents',
  'listFineTuningCheckpoints',
] as const;
export const VECTOR_STORES = [
  'createVectorStore',
  'listVectorStores',
  'getVectorStore',
  'updateVectorStore',
  'deleteVectorStore',
  'searchVectorStore',
  'createVectorStoreFile',
  'listVectorStoreFiles',
  'getVectorStoreFile',
  'updateVectorStoreFile',
  'deleteVectorStoreFile',
  'getVectorStoreFileContent',
  'createVectorStoreFileBatch',
  'getVectorStoreFileBatch',
  'cancelVectorStoreFileBatch',
  'listVectorStoreFileBatchFiles',
] as const;
export const ASSISTANTS = [
  'createAssistant',
  'listAssistants',
  'getAssistant',
  'updateAssistant',
  'deleteAssistant',
  'createThread',
  'getThread',
  'updateThread',
  'deleteThread',
  'createThreadAndRun',
  'createThreadMessage',
  'listThreadMessages',
  'getThreadMessage',
  'updateThreadMessage',
  'deleteThreadMessage',
  'createRun',
  'listRuns',
  'getRun',
  'updateRun',
  'cancelRun',
  'submitToolOutputs',
  'listRunSteps',
  'getRunStep',
] as const;
