// Embeddings (OpenAI API reference, "Embeddings"): POST /embeddings.
import {
  type CreateEmbeddingsRequest,
  CreateEmbeddingsRequestSchema,
  type Embeddings,
  EmbeddingsSchema,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { wholeCall } from './request.ts';
import { readWhole } from './response.ts';

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request: (request, { target }) =>
      wholeCall('/embeddings', json, CreateEmbeddingsRequestSchema, request, target.provider),
    response: (body, _request, context) => readWhole(json, EmbeddingsSchema, body, context),
  };
}
