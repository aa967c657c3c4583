// Kept answers, by their key and by meaning.
import type { AnswerStore } from './answers.ts';
import type { CacheRequest, Found } from './cache-request.ts';
import { SUFFIXES } from './form.ts';
import type { Meaning } from './meaning.ts';
import { decodeRecord } from './record.ts';
import { type Embedder, look, type Sight, usableVector } from './semantic.ts';
import { MOST_MAX_AGE_SECONDS } from './settings.ts';
import type { VectorStore } from './vectors.ts';
import { within } from './within.ts';

export interface Finder {
  /** The record of a key that serves the caller. @throws GatewayError store_unavailable. */
  find(visit: CacheRequest, key: string): Promise<Found | undefined>;
  /** The text's vector; undefined when it does not come in time. @throws the signal's reason when the caller leaves. */
  vector(visit: CacheRequest, meaning: Meaning, embedder: Embedder): Promise<Float32Array | undefined>;
  /** The kept answers near a text; undefined when there is no vector. @throws as `vector`. */
  sight(visit: CacheRequest, meaning: Meaning, embedder: Embedder): Promise<Sight<Found> | undefined>;
}

/** @param embedMs what the embeddings may take of a call's time */
export function createFinder(answers: AnswerStore, vectors: VectorStore, embedMs: number): Finder {
  async function find(visit: CacheRequest, key: string): Promise<Found | undefined> {
    const maxAgeMs = visit.settings.maxAgeSeconds * 1000;
    for (const suffix of visit.suffixes) {
      const read = answers.read(visit.org, key + suffix, maxAgeMs);
      const kept = read instanceof Promise ? await read : read;
      if (kept === undefined) continue;
      const record = decodeRecord(kept.value);
      if (record !== undefined && visit.fits(record)) return { key, record, ageMs: kept.ageMs };
      void answers.remove(visit.org, key + suffix);
    }
    return undefined;
  }

  /** The answer of a vector: another form of it may be there, which serves other callers. */
  async function kept(
    visit: CacheRequest,
    key: string,
  ): Promise<{ readonly found: Found } | 'gone' | 'unfit'> {
    try {
      const found = await find(visit, key);
      if (found !== undefined) return { found };
      for (const suffix of SUFFIXES) {
        if (await answers.read(visit.org, key + suffix, MOST_MAX_AGE_SECONDS * 1000)) return 'unfit';
      }
      return 'gone';
    } catch {
      return 'unfit';
    }
  }

  async function vector(
    visit: CacheRequest,
    meaning: Meaning,
    embedder: Embedder,
  ): Promise<Float32Array | undefined> {
    const made = within(embedMs, visit.call.signal, (signal) => embedder.embed(meaning.text, signal));
    return usableVector(await made);
  }

  return {
    find,
    vector,
    async sight(visit, meaning, embedder) {
      const own = await vector(visit, meaning, embedder);
      if (own === undefined) return undefined;
      const { threshold } = visit.settings;
      return look(vectors, visit.org, meaning, own, threshold, (key) => kept(visit, key));
    },
  };
}
