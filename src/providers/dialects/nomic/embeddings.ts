// Embeddings (Nomic Atlas API reference, "Generate text embeddings"): POST /embedding/text.
import { create } from '@bufbuild/protobuf';
import {
  type CreateEmbeddingsRequest,
  type Embeddings,
  EmbeddingsSchema,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, given, textOf } from '../../json-object.ts';
import { textsOf } from '../../texts-of.ts';
import { readUsage, usageIn } from '../../usage/tap.ts';
import { floats } from '../../vector.ts';
import { readObject } from '../openai/response.ts';

const HEADERS = Object.freeze(['content-type', 'application/json', 'accept', 'application/json']);

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request: (request) => ({
      method: 'POST',
      path: '/embedding/text',
      headers: HEADERS,
      body: JSON.stringify({
        model: request.model ?? '',
        texts: [...textsOf(request)],
        ...(request.dimensions === undefined ? {} : { dimensionality: request.dimensions }),
        ...given(request.extra),
      }),
    }),
    response(body, request, context) {
      const whole = readObject(body, context);
      const vectors = arrayOf(whole.embeddings);
      if (vectors.length === 0)
        throw fail('upstream_garbage', 'the provider answered without embeddings', {
          provider: context.target.provider.id,
        });
      const counts = usageIn(whole);
      const usage = counts && readUsage(json, counts);
      const model = textOf(whole.model);
      const answer = create(EmbeddingsSchema, {
        object: 'list',
        model: model ?? request.model ?? '',
        data: vectors.map((values, index) => ({
          object: 'embedding',
          index,
          embedding: { kind: floats(arrayOf(values), request.encodingFormat) },
        })),
        ...(usage === undefined || usage === 'refused' ? {} : { usage }),
      });
      return { answer, usage, model };
    },
  };
}
