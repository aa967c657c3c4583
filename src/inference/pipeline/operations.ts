// What stages must know of an operation beside its dialect: its messages, and how others name it.
import type { DescMessage } from '@bufbuild/protobuf';
import {
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import {
  CompletionSchema,
  CreateCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/completions_pb.ts';
import {
  CreateEmbeddingsRequestSchema,
  EmbeddingsSchema,
} from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModelListSchema, ModelSchema } from '../../../gen/gateway/inference/v2/models_pb.ts';
import {
  CreateModerationRequestSchema,
  ModerationSchema,
} from '../../../gen/gateway/inference/v2/moderations_pb.ts';
import type { Api } from '../../checks/view/traffic.ts';
import type { OperationName } from '../../providers/operations.ts';

/** An operation. */
export interface OperationFacts {
  /** Undefined where there is no body. */
  readonly request: DescMessage | undefined;
  readonly answer: DescMessage;
  /** A piece of a streamed answer. */
  readonly chunk: DescMessage | undefined;
  /** Its path, as conditions know it. */
  readonly path: string;
  /** As guardrails know it. */
  readonly api: Api;
  readonly requestType: string;
}

export const OPERATIONS: Readonly<Record<OperationName, OperationFacts>> = {
  chat: {
    request: CreateChatCompletionRequestSchema,
    answer: ChatCompletionSchema,
    chunk: ChatCompletionChunkSchema,
    path: '/v1/chat/completions',
    api: 'chat',
    requestType: 'chatComplete',
  },
  completions: {
    request: CreateCompletionRequestSchema,
    answer: CompletionSchema,
    chunk: CompletionSchema,
    path: '/v1/completions',
    api: 'completions',
    requestType: 'complete',
  },
  embeddings: {
    request: CreateEmbeddingsRequestSchema,
    answer: EmbeddingsSchema,
    chunk: undefined,
    path: '/v1/embeddings',
    api: 'embeddings',
    requestType: 'embed',
  },
  moderations: {
    request: CreateModerationRequestSchema,
    answer: ModerationSchema,
    chunk: undefined,
    path: '/v1/moderations',
    api: 'moderations',
    requestType: 'moderate',
  },
  models: {
    request: undefined,
    answer: ModelListSchema,
    chunk: undefined,
    path: '/v1/models',
    api: 'other',
    requestType: 'listModels',
  },
  model: {
    request: undefined,
    answer: ModelSchema,
    chunk: undefined,
    path: '/v1/models',
    api: 'other',
    requestType: 'retrieveModel',
  },
};
