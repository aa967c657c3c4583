// Rerank over InvokeModel (Bedrock, "Amazon Rerank 1.0", "Cohere Rerank 3.5"): texts in, scores out.
import type { JsonObject } from '@bufbuild/protobuf';
import type { CreateRerankRequest, Rerank } from '../../../../gen/gateway/inference/v2/rerank_pb.ts';
import { invalidField } from '../../../lib/errors.ts';
import { jsonBody } from '../../../lib/json-in-slices.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { given } from '../../json-object.ts';
import { documentTexts, readRerank } from '../../rerank.ts';
import { modelSegment } from './model-id.ts';
import { readObject } from './response.ts';

const JSON_HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);
/** Documents that one search covers (Bedrock, "Pricing"); its answers do not count searches. */
const DOCUMENTS_PER_SEARCH = 100;
const COHERE = /(?:^|[./])cohere\.rerank/;
const AMAZON = /(?:^|[./])amazon\.rerank/;

/** The operation over the given JSON. */
export function rerank(json: MessageJson): Operation<CreateRerankRequest, Rerank> {
  return {
    request(request) {
      const path = `/model/${modelSegment(request.model ?? '')}/invoke`;
      return { method: 'POST', path, headers: JSON_HEADERS, body: jsonBody(bodyOf(request)) };
    },
    response(body, request, context) {
      const searches = Math.ceil(request.documents.length / DOCUMENTS_PER_SEARCH);
      const whole: JsonObject = { usage: { search_units: searches }, ...readObject(body, context) };
      return readRerank(json, whole, request, context);
    },
  };
}

function bodyOf(request: CreateRerankRequest): JsonObject {
  const { model = '', query = '', topN } = request;
  if (!COHERE.test(model) && !AMAZON.test(model))
    throw invalidField('model', "must be one of Amazon's or Cohere's Rerank for rerank with this provider");
  return {
    query,
    documents: [...documentTexts(request)],
    ...(topN === undefined ? {} : { top_n: topN }),
    ...(COHERE.test(model) ? { api_version: 2 } : {}),
    ...given(request.extra),
  };
}
