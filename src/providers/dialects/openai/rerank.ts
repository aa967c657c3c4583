// Rerank (Jina AI, Together, vLLM and others): POST /rerank.
import {
  type CreateRerankRequest,
  CreateRerankRequestSchema,
  type Rerank,
} from '../../../../gen/gateway/inference/v2/rerank_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { readRerank } from '../../rerank.ts';
import { wholeCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON. */
export function rerank(json: MessageJson): Operation<CreateRerankRequest, Rerank> {
  return {
    request: (request, { target }) =>
      wholeCall('/rerank', json, CreateRerankRequestSchema, request, target.provider),
    response: (body, request, context) => readRerank(json, readObject(body, context), request, context),
  };
}
