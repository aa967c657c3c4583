// Embeddings.
import type { CreateEmbeddingsRequest } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of EmbeddingsService. */
export function embeddingsService(pipeline: Pipeline) {
  return {
    createEmbeddings: (request: CreateEmbeddingsRequest, call: Call) =>
      runWhole(pipeline, call, 'embeddings', request, request.model),
  };
}
