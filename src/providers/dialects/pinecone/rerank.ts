// Rerank (Pinecone API reference, "Rerank documents"): POST /rerank. Documents are objects, and scores are called `score`.
import type { CreateRerankRequest, Rerank } from '../../../../gen/gateway/inference/v2/rerank_pb.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { given } from '../../json-object.ts';
import { documentsOf, readRerank } from '../../rerank.ts';
import { readObject } from '../openai/response.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);

/** The operation over the given JSON. */
export function rerank(json: MessageJson): Operation<CreateRerankRequest, Rerank> {
  return {
    request: (request) => ({
      method: 'POST',
      path: '/rerank',
      headers: JSON_HEADERS,
      body: JSON.stringify({
        model: request.model ?? '',
        query: request.query ?? '',
        documents: documentsOf(request).map((one) => (typeof one === 'string' ? { text: one } : one)),
        ...(request.topN === undefined ? {} : { top_n: request.topN }),
        return_documents: request.returnDocuments ?? false,
        ...given(request.extra),
      }),
    }),
    response: (body, request, context) => readRerank(json, readObject(body, context), request, context),
  };
}
