// Where rows of the gateway's own batches may go: the method of each path.
import type { DescMethodUnary } from '@bufbuild/protobuf';
import { ChatService } from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsService } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { MessagesService } from '../../../gen/gateway/inference/v2/messages_pb.ts';
import { ModerationsService } from '../../../gen/gateway/inference/v2/moderations_pb.ts';
import { RerankService } from '../../../gen/gateway/inference/v2/rerank_pb.ts';
import { ResponsesService } from '../../../gen/gateway/inference/v2/responses_pb.ts';

export const ENDPOINTS: ReadonlyMap<string, DescMethodUnary> = new Map<string, DescMethodUnary>([
  ['/v1/chat/completions', ChatService.method.createChatCompletion],
  ['/v1/completions', CompletionsService.method.createCompletion],
  ['/v1/embeddings', EmbeddingsService.method.createEmbeddings],
  ['/v1/responses', ResponsesService.method.createResponse],
  ['/v1/messages', MessagesService.method.createMessage],
  ['/v1/moderations', ModerationsService.method.createModeration],
  ['/v1/rerank', RerankService.method.createRerank],
]);
