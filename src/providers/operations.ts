// The operations of model providers, one row each: what every stage must know of one. Dialects know how it is encoded.
import type { DescMessage, DescMethod, MessageShape } from '@bufbuild/protobuf';
import {
  CreateSpeechRequestSchema,
  ListVoicesRequestSchema,
  TranscriptionHeadSchema,
  TranscriptionSchema,
  TranslationHeadSchema,
  VoiceListSchema,
} from '../../gen/gateway/inference/v2/audio_pb.ts';
import {
  ConverseEventSchema,
  ConverseRequestSchema,
  ConverseResponseSchema,
  InvokeModelEventSchema,
  InvokeModelRequestSchema,
  InvokeModelResponseSchema,
} from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import {
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/chat_pb.ts';
import { BinaryAnswerSchema } from '../../gen/gateway/inference/v2/common_pb.ts';
import {
  CompletionSchema,
  CreateCompletionRequestSchema,
} from '../../gen/gateway/inference/v2/completions_pb.ts';
import {
  CreateEmbeddingsRequestSchema,
  EmbeddingsSchema,
} from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import {
  BatchEmbedContentsRequestSchema,
  ContentEmbeddingSchema,
  ContentEmbeddingsSchema,
  ContentTokensSchema,
  CountContentTokensRequestSchema,
  EmbedContentRequestSchema,
  GenerateContentRequestSchema,
  GenerateContentResponseSchema,
} from '../../gen/gateway/inference/v2/gemini_pb.ts';
import {
  CreateImageRequestSchema,
  ImageEditHeadSchema,
  ImageEventSchema,
  ImagesSchema,
  ImageVariationHeadSchema,
} from '../../gen/gateway/inference/v2/images_pb.ts';
import {
  CountMessageTokensRequestSchema,
  CreateMessageRequestSchema,
  MessageEventSchema,
  MessageSchema,
  MessageTokensSchema,
} from '../../gen/gateway/inference/v2/messages_pb.ts';
import {
  GetModelRequestSchema,
  ListModelsRequestSchema,
  ModelListSchema,
  ModelSchema,
} from '../../gen/gateway/inference/v2/models_pb.ts';
import {
  CreateModerationRequestSchema,
  ModerationSchema,
} from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { CreateOcrRequestSchema, OcrSchema } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import {
  CreateRealtimeSecretRequestSchema,
  RealtimeSecretSchema,
} from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { CreateRerankRequestSchema, RerankSchema } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import {
  CancelResponseRequestSchema,
  CompactedResponseSchema,
  CompactResponseRequestSchema,
  CreateResponseRequestSchema,
  DeletedResponseSchema,
  DeleteResponseRequestSchema,
  GetResponseRequestSchema,
  InputItemListSchema,
  ListInputItemsRequestSchema,
  ModelResponseSchema,
  ResponseEventSchema,
} from '../../gen/gateway/inference/v2/responses_pb.ts';
import {
  RemixVideoRequestSchema,
  VideoHeadSchema,
  VideoSchema,
} from '../../gen/gateway/inference/v2/videos_pb.ts';
import { RELAYED, STREAMED } from './relayed-rows.ts';

/** How guardrails find the texts of a body; of `other` they find none. */
export type GuardrailView =
  | 'chat'
  | 'completions'
  | 'embeddings'
  | 'responses'
  | 'messages'
  | 'moderations'
  | 'rerank'
  | 'images'
  | 'speech'
  | 'transcripts'
  | 'ocr'
  | 'gemini'
  | 'converse'
  | 'tools'
  | 'invoke'
  | 'other';

/** One operation. */
export interface OperationRow {
  readonly request: DescMessage;
  readonly answer: DescMessage;
  /** A piece of a streamed answer; absent: it does not stream. */
  readonly chunk?: DescMessage;
  /** Whether the request has a JSON body; else it only reads. */
  readonly hasBody: boolean;
  /** The gateway's own path, as conditions of configs know it. */
  readonly path: string;
  /** Methods of the contract that run it, by their names there. */
  readonly methods: readonly string[];
  /** Whether a model makes its answer token by token, so that limits hold the longest answer. */
  readonly makesTokens: boolean;
  /** Whether providers count its tokens, so that a missing report is estimated. */
  readonly counted: boolean;
  /** Whether a request without a model is refused. */
  readonly needsModel: boolean;
  /** Whether answers may be kept for other calls. */
  readonly cached: boolean;
  /** The request's property without which they are not: another answer is wanted each time. */
  readonly cachedWith?: string;
  /** Whether it may be sent twice at once: else no hedge is made. */
  readonly idempotent: boolean;
  readonly view: GuardrailView;
  /** As guardrails' `allowedRequestTypes` names it. */
  readonly requestType: string;
  /** `gen_ai.operation.name`. */
  readonly genAiName: string;
  /** Only providers whose literal lists it in `native` have it themselves, whatever their dialect can say. */
  readonly listed?: true;
  /** What all other providers are asked in its place: its requests and answers are translated. */
  readonly over?: 'chat' | 'embeddings';
  /** The caller's headers that go on to providers that have it themselves, by lower-case name. */
  readonly relays?: readonly string[];
  /** The method whose verb, path and messages a provider of OpenAI's form has, too. */
  readonly rpc?: DescMethod;
}

/** What Anthropic's clients say in headers and no gateway may keep to itself. */
const ANTHROPIC_HEADERS = ['anthropic-version', 'anthropic-beta'] as const;

/** By name. Their order is the one of lists. */
export const OPERATIONS = {
  chat: {
    request: CreateChatCompletionRequestSchema,
    answer: ChatCompletionSchema,
    chunk: ChatCompletionChunkSchema,
    hasBody: true,
    path: '/v1/chat/completions',
    // Prompts are rendered into chats, nearly all of them.
    methods: [
      'CreateChatCompletion',
      'StreamChatCompletion',
      'CreatePromptCompletion',
      'StreamPromptCompletion',
    ],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'chat',
    requestType: 'chatComplete',
    genAiName: 'chat',
  },
  completions: {
    request: CreateCompletionRequestSchema,
    answer: CompletionSchema,
    chunk: CompletionSchema,
    hasBody: true,
    path: '/v1/completions',
    methods: ['CreateCompletion', 'StreamCompletion'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'completions',
    requestType: 'complete',
    genAiName: 'text_completion',
  },
  messages: {
    request: CreateMessageRequestSchema,
    answer: MessageSchema,
    chunk: MessageEventSchema,
    hasBody: true,
    path: '/v1/messages',
    methods: ['CreateMessage', 'StreamMessage'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'messages',
    requestType: 'messages',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
    relays: ANTHROPIC_HEADERS,
  },
  countTokens: {
    request: CountMessageTokensRequestSchema,
    answer: MessageTokensSchema,
    hasBody: true,
    path: '/v1/messages/count_tokens',
    methods: ['CountMessageTokens'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: false,
    idempotent: true,
    view: 'messages',
    requestType: 'messagesCountTokens',
    genAiName: 'count_tokens',
    listed: true,
    relays: ANTHROPIC_HEADERS,
  },
  responses: {
    request: CreateResponseRequestSchema,
    answer: ModelResponseSchema,
    chunk: ResponseEventSchema,
    hasBody: true,
    path: '/v1/responses',
    methods: ['CreateResponse', 'StreamResponse'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'responses',
    requestType: 'createModelResponse',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  compactResponse: {
    request: CompactResponseRequestSchema,
    answer: CompactedResponseSchema,
    hasBody: true,
    path: '/v1/responses/compact',
    methods: ['CompactResponse'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: false,
    idempotent: true,
    view: 'responses',
    requestType: 'createModelResponse',
    genAiName: 'compact_response',
    listed: true,
  },
  getResponse: {
    request: GetResponseRequestSchema,
    answer: ModelResponseSchema,
    chunk: ResponseEventSchema,
    hasBody: false,
    path: '/v1/responses',
    methods: ['GetResponse', 'StreamKeptResponse'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'responses',
    requestType: 'getModelResponse',
    genAiName: 'get_response',
    listed: true,
  },
  deleteResponse: {
    request: DeleteResponseRequestSchema,
    answer: DeletedResponseSchema,
    hasBody: false,
    path: '/v1/responses',
    methods: ['DeleteResponse'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'other',
    requestType: 'deleteModelResponse',
    genAiName: 'delete_response',
    listed: true,
  },
  cancelResponse: {
    request: CancelResponseRequestSchema,
    answer: ModelResponseSchema,
    hasBody: false,
    path: '/v1/responses',
    methods: ['CancelResponse'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'responses',
    requestType: 'getModelResponse',
    genAiName: 'cancel_response',
    listed: true,
  },
  inputItems: {
    request: ListInputItemsRequestSchema,
    answer: InputItemListSchema,
    hasBody: false,
    path: '/v1/responses',
    methods: ['ListInputItems'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'other',
    requestType: 'listResponseInputItems',
    genAiName: 'list_input_items',
    listed: true,
  },
  generateContent: {
    request: GenerateContentRequestSchema,
    answer: GenerateContentResponseSchema,
    chunk: GenerateContentResponseSchema,
    hasBody: true,
    path: '/v1beta/models',
    methods: ['GenerateContent', 'StreamGenerateContent'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'gemini',
    requestType: 'chatComplete',
    genAiName: 'generate_content',
    listed: true,
    over: 'chat',
  },
  countContentTokens: {
    request: CountContentTokensRequestSchema,
    answer: ContentTokensSchema,
    hasBody: true,
    path: '/v1beta/models',
    methods: ['CountContentTokens'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: false,
    idempotent: true,
    view: 'gemini',
    requestType: 'messagesCountTokens',
    genAiName: 'count_tokens',
    listed: true,
  },
  embedContent: {
    request: EmbedContentRequestSchema,
    answer: ContentEmbeddingSchema,
    hasBody: true,
    path: '/v1beta/models',
    methods: ['EmbedContent'],
    makesTokens: false,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'gemini',
    requestType: 'embed',
    genAiName: 'embeddings',
    listed: true,
    over: 'embeddings',
  },
  batchEmbedContents: {
    request: BatchEmbedContentsRequestSchema,
    answer: ContentEmbeddingsSchema,
    hasBody: true,
    path: '/v1beta/models',
    methods: ['BatchEmbedContents'],
    makesTokens: false,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'gemini',
    requestType: 'embed',
    genAiName: 'embeddings',
    listed: true,
    over: 'embeddings',
  },
  converse: {
    request: ConverseRequestSchema,
    answer: ConverseResponseSchema,
    chunk: ConverseEventSchema,
    hasBody: true,
    path: '/model',
    methods: ['Converse', 'ConverseStream'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'converse',
    requestType: 'chatComplete',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  invokeModel: {
    request: InvokeModelRequestSchema,
    answer: InvokeModelResponseSchema,
    chunk: InvokeModelEventSchema,
    hasBody: true,
    path: '/model',
    methods: ['InvokeModel', 'InvokeModelWithResponseStream'],
    makesTokens: true,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'invoke',
    requestType: 'chatComplete',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  embeddings: {
    request: CreateEmbeddingsRequestSchema,
    answer: EmbeddingsSchema,
    hasBody: true,
    path: '/v1/embeddings',
    methods: ['CreateEmbeddings'],
    makesTokens: false,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'embeddings',
    requestType: 'embed',
    genAiName: 'embeddings',
  },
  moderations: {
    request: CreateModerationRequestSchema,
    answer: ModerationSchema,
    hasBody: true,
    path: '/v1/moderations',
    methods: ['CreateModeration'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: true,
    idempotent: true,
    view: 'moderations',
    requestType: 'moderate',
    genAiName: 'moderation',
  },
  rerank: {
    request: CreateRerankRequestSchema,
    answer: RerankSchema,
    hasBody: true,
    path: '/v1/rerank',
    methods: ['CreateRerank'],
    makesTokens: false,
    counted: true,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'rerank',
    requestType: 'rerank',
    genAiName: 'rerank',
  },
  images: {
    request: CreateImageRequestSchema,
    answer: ImagesSchema,
    chunk: ImageEventSchema,
    hasBody: true,
    path: '/v1/images/generations',
    methods: ['CreateImage', 'StreamImage'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: true,
    cachedWith: 'seed',
    idempotent: true,
    view: 'images',
    requestType: 'imageGenerate',
    genAiName: 'image_generation',
  },
  imageEdits: {
    request: ImageEditHeadSchema,
    answer: ImagesSchema,
    hasBody: true,
    path: '/v1/images/edits',
    methods: ['CreateImageEdit', 'StreamImageEdit'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'images',
    requestType: 'imageEdit',
    genAiName: 'image_edit',
    listed: true,
  },
  imageVariations: {
    request: ImageVariationHeadSchema,
    answer: ImagesSchema,
    hasBody: true,
    path: '/v1/images/variations',
    methods: ['CreateImageVariation'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'images',
    requestType: 'imageVariation',
    genAiName: 'image_variation',
    listed: true,
  },
  createVideo: {
    request: VideoHeadSchema,
    answer: VideoSchema,
    hasBody: true,
    path: '/v1/videos',
    methods: ['CreateVideo'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'images',
    requestType: 'createVideo',
    genAiName: 'video_generation',
    listed: true,
  },
  remixVideo: {
    request: RemixVideoRequestSchema,
    answer: VideoSchema,
    hasBody: true,
    path: '/v1/videos',
    methods: ['RemixVideo'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'images',
    requestType: 'remixVideo',
    genAiName: 'video_generation',
    listed: true,
  },
  speech: {
    request: CreateSpeechRequestSchema,
    answer: BinaryAnswerSchema,
    chunk: BinaryAnswerSchema,
    hasBody: true,
    path: '/v1/audio/speech',
    methods: ['CreateSpeech'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: true,
    idempotent: true,
    view: 'speech',
    requestType: 'createSpeech',
    genAiName: 'speech',
  },
  transcriptions: {
    request: TranscriptionHeadSchema,
    answer: TranscriptionSchema,
    hasBody: true,
    path: '/v1/audio/transcriptions',
    methods: ['CreateTranscription', 'StreamTranscription'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: false,
    idempotent: false,
    view: 'transcripts',
    requestType: 'createTranscription',
    genAiName: 'transcription',
    listed: true,
  },
  translations: {
    request: TranslationHeadSchema,
    answer: TranscriptionSchema,
    hasBody: true,
    path: '/v1/audio/translations',
    methods: ['CreateTranslation', 'StreamTranslation'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: false,
    idempotent: false,
    view: 'transcripts',
    requestType: 'createTranslation',
    genAiName: 'translation',
    listed: true,
  },
  voices: {
    request: ListVoicesRequestSchema,
    answer: VoiceListSchema,
    hasBody: false,
    path: '/v1/audio/voices',
    methods: ['ListVoices'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'other',
    requestType: 'listVoices',
    genAiName: 'list_voices',
    listed: true,
  },
  ocr: {
    request: CreateOcrRequestSchema,
    answer: OcrSchema,
    hasBody: true,
    path: '/v1/ocr',
    methods: ['CreateOcr'],
    makesTokens: false,
    counted: false,
    needsModel: true,
    cached: false,
    idempotent: true,
    view: 'ocr',
    requestType: 'ocr',
    genAiName: 'ocr',
    listed: true,
  },
  realtimeSecret: {
    request: CreateRealtimeSecretRequestSchema,
    answer: RealtimeSecretSchema,
    hasBody: true,
    path: '/v1/realtime/client_secrets',
    methods: ['CreateClientSecret'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  realtimeSession: {
    request: CreateRealtimeSecretRequestSchema,
    answer: RealtimeSecretSchema,
    hasBody: true,
    path: '/v1/realtime/sessions',
    methods: ['CreateRealtimeSession'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  transcriptionSession: {
    request: CreateRealtimeSecretRequestSchema,
    answer: RealtimeSecretSchema,
    hasBody: true,
    path: '/v1/realtime/transcription_sessions',
    methods: ['CreateTranscriptionSession'],
    makesTokens: false,
    counted: false,
    needsModel: false,
    cached: false,
    idempotent: false,
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  models: {
    request: ListModelsRequestSchema,
    answer: ModelListSchema,
    hasBody: false,
    path: '/v1/models',
    methods: ['ListModels'],
    makesTokens: false,
    counted: true,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'other',
    requestType: 'listModels',
    genAiName: 'list_models',
  },
  model: {
    request: GetModelRequestSchema,
    answer: ModelSchema,
    hasBody: false,
    path: '/v1/models',
    methods: ['GetModel'],
    makesTokens: false,
    counted: true,
    needsModel: false,
    cached: false,
    idempotent: true,
    view: 'other',
    requestType: 'retrieveModel',
    genAiName: 'get_model',
  },
  ...STREAMED,
  ...RELAYED,
} as const satisfies Readonly<Record<string, OperationRow>>;

type Rows = typeof OPERATIONS;

/** What a dialect may offer. */
export type OperationName = keyof Rows;

/** Those that can answer in pieces. */
export type StreamingName = {
  [N in OperationName]: Rows[N] extends { readonly chunk: DescMessage } ? N : never;
}[OperationName];

export type RequestOf<N extends OperationName> = MessageShape<Rows[N]['request']>;
export type AnswerOf<N extends OperationName> = MessageShape<Rows[N]['answer']>;
export type ChunkOf<N extends StreamingName> = MessageShape<Rows[N]['chunk']>;

export const OPERATION_NAMES = Object.keys(OPERATIONS) as readonly OperationName[];

/** The row of a name. */
export function operationRow(name: OperationName): OperationRow {
  return OPERATIONS[name];
}

const byMethod: ReadonlyMap<string, OperationRow> = new Map(
  OPERATION_NAMES.flatMap((name) =>
    OPERATIONS[name].methods.map((method) => [method, OPERATIONS[name]] as const),
  ),
);

/** The row that a method of the contract runs; undefined: it calls no operation of its own. */
export function operationOfMethod(method: string): OperationRow | undefined {
  return byMethod.get(method);
}
