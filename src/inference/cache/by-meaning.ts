// What semantic mode adds to a call that found nothing of its own: an answer that means the same, or a vector to be
// found by later; in shadow mode only the knowledge of it.

import { type CacheRequest, type Found, tell } from './cache-request.ts';
import type { Finder } from './finder.ts';
import { type Meaning, meaningOf } from './meaning.ts';
import type { CacheReport, CacheStatus } from './report.ts';
import type { Embedder } from './semantic.ts';
import type { VectorStore } from './vectors.ts';

/** What comparing came to. */
export type Comparison =
  | { readonly hit: Found; readonly similarity: number }
  | {
      readonly hit: undefined;
      readonly status: CacheStatus;
      readonly report: Partial<CacheReport>;
      /** Keeps the vector once the answer is kept. */
      readonly afterwards?: (ttlMs: number) => Promise<void>;
    };

export interface ByMeaning {
  /** Compares. In shadow mode it runs in parallel with the call, and neither waits for the other. @throws the signal's reason. */
  compare(visit: CacheRequest): Promise<Comparison>;
  /** For a refresh: forgets what meant the same and keeps the new vector, once the answer is kept. */
  replace(visit: CacheRequest): ((ttlMs: number) => Promise<void>) | undefined;
}

/** Vectors that a refresh looks at. */
const REFRESHED = 32;

/** What is compared, and who makes its vector; or why nothing is. */
async function textOf(
  { call, settings, subject }: CacheRequest,
  secret: Uint8Array | undefined,
): Promise<{ readonly meaning: Meaning; readonly embedder: Embedder } | string> {
  const { embedder } = call;
  if (embedder === undefined) return 'no embeddings target is set';
  const meaning = await meaningOf(subject, settings.namespace, secret, embedder.id);
  return meaning === undefined ? 'the request has no text to compare' : { meaning, embedder };
}

export function createByMeaning(
  finder: Finder,
  vectors: VectorStore,
  secret: Uint8Array | undefined,
): ByMeaning {
  async function keep(
    visit: CacheRequest,
    meaning: Meaning,
    vector: Float32Array,
    ttlMs: number,
  ): Promise<void> {
    await vectors.add(visit.org, meaning.scope, { id: visit.key, vector, ttlMs });
  }

  function shadow(visit: CacheRequest, meaning: Meaning, embedder: Embedder): Comparison {
    const seen = finder.sight(visit, meaning, embedder).then(
      (sight) => {
        if (sight?.similarity !== undefined) tell(visit, { similarity: sight.similarity });
        if (sight?.hit !== undefined)
          tell(visit, { shadow: { ...sight.hit.found, similarity: sight.hit.similarity } });
        return sight;
      },
      () => undefined,
    );
    const afterwards = async (ttlMs: number): Promise<void> => {
      const sight = await seen;
      if (sight !== undefined) await keep(visit, meaning, sight.vector, ttlMs);
    };
    return { hit: undefined, status: 'MISS', report: {}, afterwards };
  }

  return {
    async compare(visit) {
      const text = await textOf(visit, secret);
      if (typeof text === 'string') return { hit: undefined, status: 'MISS', report: { reason: text } };
      const { meaning, embedder } = text;
      if (visit.settings.shadow) return shadow(visit, meaning, embedder);
      const sight = await finder.sight(visit, meaning, embedder);
      if (sight === undefined)
        return { hit: undefined, status: 'MISS', report: { reason: 'the embeddings did not come' } };
      if (sight.hit !== undefined) return { hit: sight.hit.found, similarity: sight.hit.similarity };
      return {
        hit: undefined,
        status: 'SEMANTIC MISS',
        report: sight.similarity === undefined ? {} : { similarity: sight.similarity },
        afterwards: (ttlMs) => keep(visit, meaning, sight.vector, ttlMs),
      };
    },

    replace(visit) {
      if (visit.settings.mode !== 'semantic') return undefined;
      // Made in parallel with the call. A caller that leaves keeps no answer, and needs no vector.
      const making = textOf(visit, secret)
        .then(async (text) => {
          if (typeof text === 'string') return undefined;
          const { meaning, embedder } = text;
          const vector = await finder.vector(visit, meaning, embedder);
          return vector && { meaning, vector };
        })
        .catch(() => undefined);
      return async (ttlMs) => {
        const made = await making;
        if (made === undefined) return;
        const { meaning, vector } = made;
        for (const { id, similarity } of await vectors.near(visit.org, meaning.scope, vector, REFRESHED)) {
          if (similarity >= visit.settings.threshold && id !== visit.key)
            await vectors.remove(visit.org, meaning.scope, id);
        }
        await keep(visit, meaning, vector, ttlMs);
      };
    },
  };
}
