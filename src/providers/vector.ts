// A vector in the form that the caller asked for.
import type { JsonValue } from '@bufbuild/protobuf';
import type { Vector } from '../../gen/gateway/inference/v2/embeddings_pb.ts';

/** Numbers, or base64 of little-endian 32-bit floats, as OpenAI's clients read it. What is no number is left out. */
export function floats(
  given: readonly JsonValue[],
  format: string | undefined,
): Exclude<Vector['kind'], { case: undefined }> {
  const values = given.filter((value) => typeof value === 'number');
  if (format !== 'base64')
    return { case: 'floats', value: { $typeName: 'gateway.inference.v2.FloatList', values } };
  const bytes = Buffer.alloc(values.length * 4);
  values.forEach((value, i) => void bytes.writeFloatLE(value, i * 4));
  return { case: 'base64', value: bytes.toString('base64') };
}
