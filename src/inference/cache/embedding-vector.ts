// The vector in an answer of the embeddings operation.
import type { Embeddings } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';

/** The first vector, as 32-bit numbers; undefined when there is none that can be read. */
export function vectorOf({ data }: Pick<Embeddings, 'data'>): Float32Array | undefined {
  const kind = data[0]?.embedding?.kind;
  if (kind?.case === 'floats') return Float32Array.from(kind.value.values);
  if (kind?.case !== 'base64') return undefined;
  const bytes = Buffer.from(kind.value, 'base64');
  if (bytes.length === 0 || bytes.length % 4 !== 0) return undefined;
  return Float32Array.from({ length: bytes.length / 4 }, (_, i) => bytes.readFloatLE(i * 4));
}
