// The operations of model providers, one row each: what every stage must know of one. Dialects know how it is encoded.
import type {
  DescMessage,
  DescMethod,
  DescMethodClientStreaming,
  DescMethodServerStreaming,
  DescMethodUnary,
  MessageShape,
} from '@bufbuild/protobuf';
import {
  AudioService,
  CreateSpeechRequestSchema,
  TranscriptionHeadSchema,
  TranslationHeadSchema,
} from '../../gen/gateway/inference/v2/audio_pb.ts';
import { BedrockService } from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { BinaryAnswerSchema } from '../../gen/gateway/inference/v2/common_pb.ts';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { GeminiService } from '../../gen/gateway/inference/v2/gemini_pb.ts';
import {
  ImageEditHeadSchema,
  ImagesService,
  ImageVariationHeadSchema,
} from '../../gen/gateway/inference/v2/images_pb.ts';
import { MessagesService } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { RealtimeService } from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { RerankService } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { VideoHeadSchema, VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';
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

/** What a model makes token by token. */
const GENERATED = {
  hasBody: true,
  makesTokens: true,
  counted: true,
  needsModel: true,
  cached: true,
  idempotent: true,
} as const;
/** What is worked out from a text, e.g. an embedding. */
const EMBEDDED = { ...GENERATED, makesTokens: false } as const;
/** What only counts a request's tokens, or reads what it brings. */
const COUNTED_TOKENS = { ...EMBEDDED, counted: false, cached: false } as const;
/** What leaves something behind at the provider, or streams a file. */
const SENT_ONCE = { ...COUNTED_TOKENS, needsModel: false, idempotent: false } as const;
/** What only reads. */
const READ = { ...SENT_ONCE, hasBody: false, idempotent: true, view: 'other' } as const;

/** Messages and name of a method that answers whole. */
function whole<Q extends DescMessage, A extends DescMessage>({ input, output, name }: DescMethodUnary<Q, A>) {
  return { request: input, answer: output, methods: [name] as readonly string[] };
}

/** Those of a method with a streaming twin. */
function streaming<Q extends DescMessage, A extends DescMessage, C extends DescMessage>(
  rpc: DescMethodUnary<Q, A>,
  twin: DescMethodServerStreaming<DescMessage, C>,
) {
  return { ...whole(rpc), chunk: twin.output, methods: [rpc.name, twin.name] as readonly string[] };
}

/** Those of a method whose request is a form with files. @param head the form's members */
function inForm<H extends DescMessage, A extends DescMessage>(
  head: H,
  rpc: DescMethodClientStreaming<DescMessage, A>,
  ...twins: readonly DescMethod[]
) {
  return {
    request: head,
    answer: rpc.output,
    methods: [rpc, ...twins].map(({ name }) => name) as readonly string[],
  };
}

const chat = ChatService.method;
const completions = CompletionsService.method;
const messages = MessagesService.method;
const responses = ResponsesService.method;
const gemini = GeminiService.method;
const bedrock = BedrockService.method;
const embeddings = EmbeddingsService.method;
const moderations = ModerationsService.method;
const rerank = RerankService.method;
const images = ImagesService.method;
const videos = VideosService.method;
const audio = AudioService.method;
const ocr = OcrService.method;
const realtime = RealtimeService.method;
const models = ModelsService.method;

/** By name. Their order is the one of lists. */
export const OPERATIONS = {
  chat: {
    ...streaming(chat.createChatCompletion, chat.streamChatCompletion),
    // Prompts are rendered into chats, nearly all of them.
    methods: [
      'CreateChatCompletion',
      'StreamChatCompletion',
      'CreatePromptCompletion',
      'StreamPromptCompletion',
    ],
    ...GENERATED,
    path: '/v1/chat/completions',
    view: 'chat',
    requestType: 'chatComplete',
    genAiName: 'chat',
  },
  completions: {
    ...streaming(completions.createCompletion, completions.streamCompletion),
    ...GENERATED,
    path: '/v1/completions',
    view: 'completions',
    requestType: 'complete',
    genAiName: 'text_completion',
  },
  messages: {
    ...streaming(messages.createMessage, messages.streamMessage),
    ...GENERATED,
    path: '/v1/messages',
    view: 'messages',
    requestType: 'messages',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
    relays: ANTHROPIC_HEADERS,
  },
  countTokens: {
    ...whole(messages.countMessageTokens),
    ...COUNTED_TOKENS,
    path: '/v1/messages/count_tokens',
    view: 'messages',
    requestType: 'messagesCountTokens',
    genAiName: 'count_tokens',
    listed: true,
    relays: ANTHROPIC_HEADERS,
  },
  responses: {
    ...streaming(responses.createResponse, responses.streamResponse),
    ...GENERATED,
    path: '/v1/responses',
    view: 'responses',
    requestType: 'createModelResponse',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  compactResponse: {
    ...whole(responses.compactResponse),
    ...GENERATED,
    cached: false,
    path: '/v1/responses/compact',
    view: 'responses',
    requestType: 'createModelResponse',
    genAiName: 'compact_response',
    listed: true,
  },
  getResponse: {
    ...streaming(responses.getResponse, responses.streamKeptResponse),
    ...READ,
    path: '/v1/responses',
    view: 'responses',
    requestType: 'getModelResponse',
    genAiName: 'get_response',
    listed: true,
  },
  deleteResponse: {
    ...whole(responses.deleteResponse),
    ...READ,
    path: '/v1/responses',
    requestType: 'deleteModelResponse',
    genAiName: 'delete_response',
    listed: true,
  },
  cancelResponse: {
    ...whole(responses.cancelResponse),
    ...READ,
    path: '/v1/responses',
    view: 'responses',
    requestType: 'getModelResponse',
    genAiName: 'cancel_response',
    listed: true,
  },
  inputItems: {
    ...whole(responses.listInputItems),
    ...READ,
    path: '/v1/responses',
    requestType: 'listResponseInputItems',
    genAiName: 'list_input_items',
    listed: true,
  },
  generateContent: {
    ...streaming(gemini.generateContent, gemini.streamGenerateContent),
    ...GENERATED,
    path: '/v1beta/models',
    view: 'gemini',
    requestType: 'chatComplete',
    genAiName: 'generate_content',
    listed: true,
    over: 'chat',
  },
  countContentTokens: {
    ...whole(gemini.countContentTokens),
    ...COUNTED_TOKENS,
    path: '/v1beta/models',
    view: 'gemini',
    requestType: 'messagesCountTokens',
    genAiName: 'count_tokens',
    listed: true,
  },
  embedContent: {
    ...whole(gemini.embedContent),
    ...EMBEDDED,
    path: '/v1beta/models',
    view: 'gemini',
    requestType: 'embed',
    genAiName: 'embeddings',
    listed: true,
    over: 'embeddings',
  },
  batchEmbedContents: {
    ...whole(gemini.batchEmbedContents),
    ...EMBEDDED,
    path: '/v1beta/models',
    view: 'gemini',
    requestType: 'embed',
    genAiName: 'embeddings',
    listed: true,
    over: 'embeddings',
  },
  converse: {
    ...streaming(bedrock.converse, bedrock.converseStream),
    ...GENERATED,
    path: '/model',
    view: 'converse',
    requestType: 'chatComplete',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  invokeModel: {
    ...streaming(bedrock.invokeModel, bedrock.invokeModelWithResponseStream),
    ...GENERATED,
    path: '/model',
    view: 'invoke',
    requestType: 'chatComplete',
    genAiName: 'chat',
    listed: true,
    over: 'chat',
  },
  embeddings: {
    ...whole(embeddings.createEmbeddings),
    ...EMBEDDED,
    path: '/v1/embeddings',
    view: 'embeddings',
    requestType: 'embed',
    genAiName: 'embeddings',
  },
  moderations: {
    ...whole(moderations.createModeration),
    ...EMBEDDED,
    counted: false,
    needsModel: false,
    path: '/v1/moderations',
    view: 'moderations',
    requestType: 'moderate',
    genAiName: 'moderation',
  },
  rerank: {
    ...whole(rerank.createRerank),
    ...EMBEDDED,
    path: '/v1/rerank',
    view: 'rerank',
    requestType: 'rerank',
    genAiName: 'rerank',
  },
  images: {
    ...streaming(images.createImage, images.streamImage),
    ...EMBEDDED,
    counted: false,
    needsModel: false,
    cachedWith: 'seed',
    path: '/v1/images/generations',
    view: 'images',
    requestType: 'imageGenerate',
    genAiName: 'image_generation',
  },
  imageEdits: {
    ...inForm(ImageEditHeadSchema, images.createImageEdit, images.streamImageEdit),
    ...SENT_ONCE,
    path: '/v1/images/edits',
    view: 'images',
    requestType: 'imageEdit',
    genAiName: 'image_edit',
    listed: true,
  },
  imageVariations: {
    ...inForm(ImageVariationHeadSchema, images.createImageVariation),
    ...SENT_ONCE,
    path: '/v1/images/variations',
    view: 'images',
    requestType: 'imageVariation',
    genAiName: 'image_variation',
    listed: true,
  },
  createVideo: {
    ...inForm(VideoHeadSchema, videos.createVideo),
    ...SENT_ONCE,
    path: '/v1/videos',
    view: 'images',
    requestType: 'createVideo',
    genAiName: 'video_generation',
    listed: true,
  },
  remixVideo: {
    ...whole(videos.remixVideo),
    ...SENT_ONCE,
    path: '/v1/videos',
    view: 'images',
    requestType: 'remixVideo',
    genAiName: 'video_generation',
    listed: true,
  },
  speech: {
    request: CreateSpeechRequestSchema,
    answer: BinaryAnswerSchema,
    chunk: BinaryAnswerSchema,
    methods: ['CreateSpeech'],
    ...EMBEDDED,
    counted: false,
    path: '/v1/audio/speech',
    view: 'speech',
    requestType: 'createSpeech',
    genAiName: 'speech',
  },
  transcriptions: {
    ...inForm(TranscriptionHeadSchema, audio.createTranscription, audio.streamTranscription),
    ...SENT_ONCE,
    needsModel: true,
    path: '/v1/audio/transcriptions',
    view: 'transcripts',
    requestType: 'createTranscription',
    genAiName: 'transcription',
    listed: true,
  },
  translations: {
    ...inForm(TranslationHeadSchema, audio.createTranslation, audio.streamTranslation),
    ...SENT_ONCE,
    needsModel: true,
    path: '/v1/audio/translations',
    view: 'transcripts',
    requestType: 'createTranslation',
    genAiName: 'translation',
    listed: true,
  },
  voices: {
    ...whole(audio.listVoices),
    ...READ,
    path: '/v1/audio/voices',
    requestType: 'listVoices',
    genAiName: 'list_voices',
    listed: true,
  },
  ocr: {
    ...whole(ocr.createOcr),
    ...COUNTED_TOKENS,
    path: '/v1/ocr',
    view: 'ocr',
    requestType: 'ocr',
    genAiName: 'ocr',
    listed: true,
  },
  realtimeSecret: {
    ...whole(realtime.createClientSecret),
    ...SENT_ONCE,
    path: '/v1/realtime/client_secrets',
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  realtimeSession: {
    ...whole(realtime.createRealtimeSession),
    ...SENT_ONCE,
    path: '/v1/realtime/sessions',
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  transcriptionSession: {
    ...whole(realtime.createTranscriptionSession),
    ...SENT_ONCE,
    path: '/v1/realtime/transcription_sessions',
    view: 'other',
    requestType: 'realtime',
    genAiName: 'realtime_secret',
    listed: true,
  },
  models: {
    ...whole(models.listModels),
    ...READ,
    counted: true,
    path: '/v1/models',
    requestType: 'listModels',
    genAiName: 'list_models',
  },
  model: {
    ...whole(models.getModel),
    ...READ,
    counted: true,
    path: '/v1/models',
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
