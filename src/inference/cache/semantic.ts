// Answers of calls that mean the same: a text's vector, the nearest kept ones, and the answer of the first that is
// near enough and still there.
import type { AbortLike } from '../../lib/abort.ts';
import { unitVector } from '../../store/shared/vectors.ts';
import type { Meaning } from './meaning.ts';
import type { VectorStore } from './vectors.ts';

/** Makes vectors: the gateway's own embeddings operation over the config's target. */
export interface Embedder {
  /** Provider, host and model: vectors of two of these are never compared. */
  readonly id: string;
  /** The text's vector; undefined when there is none. May throw or be slow: the wait is bounded. */
  embed(text: string, signal: AbortLike): Promise<Float32Array | undefined>;
}

/** What a look among the near ones gave. */
export interface Sight<Found> {
  readonly vector: Float32Array;
  /** Of the nearest, good enough or not. */
  readonly similarity: number | undefined;
  readonly hit: { readonly found: Found; readonly id: string; readonly similarity: number } | undefined;
}

/** Kept texts that are looked at in one call. */
const CANDIDATES = 4;

/**
 * Looks for a kept answer. A vector whose answer has gone is forgotten.
 * @param vector the text's
 * @param read the kept answer of a key, where it is still good; `gone` where there is none in any form
 */
export async function look<Found>(
  vectors: VectorStore,
  organisationId: string,
  meaning: Meaning,
  vector: Float32Array,
  threshold: number,
  read: (id: string) => Promise<{ readonly found: Found } | 'gone' | 'unfit'>,
): Promise<Sight<Found>> {
  const near = await vectors.near(organisationId, meaning.scope, vector, CANDIDATES);
  const similarity = near[0]?.similarity;
  for (const { id, similarity: own } of near) {
    if (own < threshold) break;
    const kept = await read(id);
    if (kept === 'gone') await vectors.remove(organisationId, meaning.scope, id);
    else if (kept !== 'unfit') return { vector, similarity, hit: { ...kept, id, similarity: own } };
  }
  return { vector, similarity, hit: undefined };
}

/** A vector that can be compared, or undefined. */
export function usableVector(vector: unknown): Float32Array | undefined {
  return vector instanceof Float32Array ? unitVector(vector) : undefined;
}
