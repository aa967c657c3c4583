// Rerank (Cohere API reference, "Rerank"): POST /v2/rerank. Documents are texts, and answers do not repeat them.
import type { CreateRerankRequest, Rerank } from '../../../../gen/gateway/inference/v2/rerank_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { given } from '../../json-object.ts';
import { documentTexts, readRerank } from '../../rerank.ts';
import { postCall } from './request.ts';
import { readObject } from './response.ts';

/** The operation over the given JSON. */
export function rerank(json: MessageJson): Operation<CreateRerankRequest, Rerank> {
  return {
    request: (request) =>
      postCall('/v2/rerank', {
        model: request.model ?? '',
        query: request.query ?? '',
        documents: [...documentTexts(request)],
        ...(request.topN === undefined ? {} : { top_n: request.topN }),
        ...given(request.extra),
      }),
    response: (body, request, context) => readRerank(json, readObject(body, context), request, context),
  };
}
