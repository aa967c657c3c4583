// Inputs of embeddings for providers that take texts only.
import type { CreateEmbeddingsRequest } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { invalidField } from '../lib/errors.ts';

/** @throws GatewayError `validation_failed` for tokens */
export function textsOf({ input }: CreateEmbeddingsRequest): readonly string[] {
  const kind = input?.kind;
  if (kind?.case === 'text') return [kind.value];
  if (kind?.case === 'texts') return kind.value.values;
  throw invalidField('input', 'must be text with this provider, not tokens');
}
