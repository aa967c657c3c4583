// embedContent and batchEmbedContents over the embeddings of other wires, which take texts alone.
import type { JsonObject } from '@bufbuild/protobuf';
import {
  type CreateEmbeddingsRequest,
  CreateEmbeddingsRequestSchema,
  type Embeddings,
} from '../../../../gen/gateway/inference/v2/embeddings_pb.ts';
import {
  type BatchEmbedContentsRequest,
  type ContentEmbedding,
  ContentEmbeddingSchema,
  type ContentEmbeddings,
  ContentEmbeddingsSchema,
  type EmbedContentRequest,
} from '../../../../gen/gateway/inference/v2/gemini_pb.ts';
import { fail, invalidField } from '../../../lib/errors.ts';
import type { MessageJson } from '../../dialect.ts';
import type { WholeForm } from '../form.ts';
import { Lost } from '../messages/lost.ts';

/** One content. */
export function embedForm(
  json: MessageJson,
): WholeForm<EmbedContentRequest, ContentEmbedding, CreateEmbeddingsRequest, Embeddings> {
  return {
    to: (request) => asked(json, request.model, [request], ''),
    answer(embeddings, _request) {
      const [values] = vectorsOf(embeddings, 1);
      return json.decode(ContentEmbeddingSchema, { embedding: { values } });
    },
  };
}

/** Several contents. */
export function batchEmbedForm(
  json: MessageJson,
): WholeForm<BatchEmbedContentsRequest, ContentEmbeddings, CreateEmbeddingsRequest, Embeddings> {
  return {
    to: ({ model, requests }) => asked(json, model, requests, 'requests[*].'),
    answer(embeddings, { requests }) {
      const vectors = vectorsOf(embeddings, requests.length).map((values) => ({ values }));
      return json.decode(ContentEmbeddingsSchema, { embeddings: vectors });
    },
  };
}

/** @throws GatewayError validation_failed for a content without a text, and for vectors of several lengths */
function asked(
  json: MessageJson,
  model: string | undefined,
  requests: readonly EmbedContentRequest[],
  path: string,
): { readonly other: CreateEmbeddingsRequest; readonly lost: readonly string[] } {
  const lost = new Lost();
  const lengths = new Set(requests.map(({ outputDimensionality }) => outputDimensionality));
  if (lengths.size > 1)
    throw invalidField('requests', 'must all have the same outputDimensionality with this provider');
  const input = requests.map(({ content, taskType, title }, i) => {
    if (taskType !== undefined) lost.add(`${path}taskType`);
    if (title !== undefined) lost.add(`${path}title`);
    const texts = content?.parts.flatMap(({ text }) => text ?? []) ?? [];
    if (texts.length < (content?.parts.length ?? 0)) lost.add(`${path}content.parts[*]`);
    if (texts.join('') !== '') return texts.join('\n');
    throw invalidField(`${path.replace('*', String(i))}content.parts`, 'must have a text with this provider');
  });
  const [dimensions] = lengths;
  const body: JsonObject = { model: model ?? '', input, ...(dimensions === undefined ? {} : { dimensions }) };
  return { other: json.decode(CreateEmbeddingsRequestSchema, body), lost: lost.names };
}

/** @throws GatewayError upstream_garbage when there are fewer than were asked for */
function vectorsOf({ data }: Embeddings, count: number): number[][] {
  const vectors = [...data]
    .sort((one, other) => Number(one.index) - Number(other.index))
    .map(({ embedding }) => numbersOf(embedding?.kind));
  if (vectors.length >= count) return vectors.slice(0, count);
  throw fail('upstream_garbage', 'the provider answered with fewer vectors than were asked for');
}

function numbersOf(kind: NonNullable<Embeddings['data'][number]['embedding']>['kind'] | undefined): number[] {
  if (kind?.case !== 'base64') return kind?.case === 'floats' ? kind.value.values : [];
  const bytes = Buffer.from(kind.value, 'base64');
  return Array.from({ length: Math.floor(bytes.length / 4) }, (_, i) => bytes.readFloatLE(i * 4));
}
