// Embeddings (Cohere API reference, "Embed"): POST /v2/embed.
import { create } from '@bufbuild/protobuf';
import {
  type CreateEmbeddingsRequest,
  type Embeddings,
  EmbeddingsSchema,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { fail } from '../../../lib/errors.ts';
import type { MessageJson, Operation } from '../../dialect.ts';
import { arrayOf, given, objectOf } from '../../json-object.ts';
import { textsOf } from '../../texts-of.ts';
import { readUsage } from '../../usage/tap.ts';
import { floats } from '../../vector.ts';
import { postCall } from './request.ts';
import { readObject } from './response.ts';

/** Its models are told what a text is for; documents are what is embedded most. */
const DEFAULT_PURPOSE = 'search_document';

/** The operation over the given JSON. */
export function embeddings(json: MessageJson): Operation<CreateEmbeddingsRequest, Embeddings> {
  return {
    request: (request) =>
      postCall('/v2/embed', {
        model: request.model ?? '',
        texts: [...textsOf(request)],
        input_type: DEFAULT_PURPOSE,
        embedding_types: ['float'],
        ...(request.dimensions === undefined ? {} : { output_dimension: request.dimensions }),
        ...given(request.extra),
      }),
    response(body, request, context) {
      const whole = readObject(body, context);
      const vectors = Array.isArray(whole.embeddings)
        ? whole.embeddings
        : arrayOf(objectOf(whole.embeddings)?.float);
      if (vectors.length === 0)
        throw fail('upstream_garbage', 'the provider answered without embeddings', {
          provider: context.target.provider.id,
        });
      const counts = objectOf(whole.meta);
      const usage = counts && readUsage(json, counts);
      const answer = create(EmbeddingsSchema, {
        object: 'list',
        model: request.model ?? '',
        data: vectors.map((values, index) => ({
          object: 'embedding',
          index,
          embedding: { kind: floats(arrayOf(values), request.encodingFormat) },
        })),
        ...(usage === undefined || usage === 'refused' ? {} : { usage }),
      });
      return { answer, usage, model: undefined };
    },
  };
}
