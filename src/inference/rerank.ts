// Rerank.
import type { CreateRerankRequest } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import type { Call } from '../call/call.ts';
import type { Pipeline } from './pipeline/pipeline.ts';
import { runWhole } from './pipeline/run.ts';

/** The methods of RerankService. */
export function rerankService(pipeline: Pipeline) {
  return {
    createRerank: (request: CreateRerankRequest, call: Call) =>
      runWhole(pipeline, call, 'rerank', request, request.model),
  };
}
