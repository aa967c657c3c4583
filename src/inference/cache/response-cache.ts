// The response cache: what a pipeline stage calls. It never fails a call: what goes wrong in here is a miss.
import type { AbortLike } from '../../lib/abort.ts';
import type { AnswerStore } from './answers.ts';
import { type StreamForm, streamOf, suffixesOf, type WholeForm, wholeOf } from './form.ts';
import { type CacheSubject, cacheKey } from './key.ts';
import { type CacheLookup, createCacheLookup } from './lookup.ts';
import type { AnswerNote } from './record.ts';
import { record } from './recorder.ts';
import type { CacheReport } from './report.ts';
import type { Embedder } from './semantic.ts';
import type { CacheSettings } from './settings.ts';
import type { VectorStore } from './vectors.ts';

/** One call at the cache. */
export interface CacheCall {
  /** Of the target's plan, after `withCacheHeaders`; undefined: the call does not use the cache. */
  readonly settings: CacheSettings | undefined;
  /** What the key is made of; asked once, when the cache is used. */
  readonly subject: () => Promise<CacheSubject>;
  /** The caller leaves, or its time is up. */
  readonly signal: AbortLike;
  /** Called before anything is sent upstream or answered, and again when more is known. Must not throw. */
  readonly note: (report: CacheReport) => void;
  /** Makes vectors in semantic mode. Without it only the same request is found. */
  readonly embedder?: Embedder | undefined;
  /** What is worth knowing of the answer with each later hit; asked once it is there. */
  readonly answerNote?: () => AnswerNote;
  /**
   * Longest wait for another call that makes the same answer, when the caller has less time than WAIT_MS. 0: none,
   * for a hedge, which must not wait for the call that it stands in for.
   */
  readonly waitMs?: number;
}

export interface ResponseCacheOptions {
  readonly answers: AnswerStore;
  readonly vectors: VectorStore;
  /** Makes keys that cannot be computed without the secret. The same for all instances of one shared store. */
  readonly secret?: Uint8Array | undefined;
  /** Longest answer that is kept, in bytes of its text; MAX_KEPT_BYTES by default. */
  readonly maxAnswerBytes?: number;
  /** WAIT_MS by default. */
  readonly waitMs?: number;
  /** What the embeddings may take of a call's time, in milliseconds; EMBED_MS by default. */
  readonly embedMs?: number;
}

/** Longest answer that is kept. */
export const MAX_KEPT_BYTES = 4 * 1024 * 1024;
/** Longest wait for another's answer; then a call goes on by itself. */
export const WAIT_MS = 30_000;
/** What the embeddings may take of a call's time. */
export const EMBED_MS = 3000;

/**
 * Answers from the cache, or runs the call and keeps what it gives.
 *
 *     const cache = createResponseCache({ answers: createLocalAnswers({ maxBytes }), vectors: createLocalVectors({ maxBytes }) });
 *     const answer = await cache.whole(
 *       {
 *         settings: withCacheHeaders(plan.cache, call.headers),
 *         subject: () => ({ organisationId, workspaceId, target, operation: 'chat', model, request, metadata }),
 *         signal: call.signal,
 *         note: (report) => call.answerHeaders.set('cache-status', report.status),
 *       },
 *       wholeMessages(json, ChatCompletionSchema),
 *       () => callWhole(…),
 *     );
 *
 * Only what `run` resolves with is kept, and for a stream only what came to its end. What `run` throws is thrown to
 * its own caller only. Identical calls that come while one is under way wait for its answer (a stream's
 * too, and get it whole in one go: a stream that breaks for its first reader must not break for the others) for
 * WAIT_MS at the most. When it fails, the next of them runs; see `SingleFlight`.
 */
export interface ResponseCache {
  /** An answer that comes whole. @throws what `run` throws, and the signal's reason while waiting. */
  whole<Answer>(call: CacheCall, form: WholeForm<Answer>, run: () => Promise<Answer>): Promise<Answer>;
  /** An answer that comes in pieces; `run` resolves when the first one is at hand. @throws as `whole`. */
  stream<Chunk>(
    call: CacheCall,
    form: StreamForm<Chunk>,
    run: () => Promise<AsyncIterable<Chunk>>,
  ): Promise<AsyncIterable<Chunk>>;
  /** What is there for a call, for a dry run: nothing is sent, kept, removed or waited for, nor compared by meaning. */
  peek<Part>(
    call: Pick<CacheCall, 'settings' | 'subject'>,
    form: WholeForm<Part> | StreamForm<Part>,
  ): Promise<CacheReport>;
}

/** Builds the cache over its stores. */
export function createResponseCache(options: ResponseCacheOptions): ResponseCache {
  const { maxAnswerBytes = MAX_KEPT_BYTES, secret } = options;
  const lookup: CacheLookup = createCacheLookup({
    answers: options.answers,
    vectors: options.vectors,
    secret,
    waitMs: options.waitMs ?? WAIT_MS,
    embedMs: options.embedMs ?? EMBED_MS,
  });

  return {
    async whole(call, form, run) {
      if (call.settings === undefined) return unused(call, run);
      const turn = await lookup.turn(call, call.settings, suffixesOf(form), (kept) => wholeOf(form, kept));
      if ('answer' in turn) return turn.answer;
      try {
        const answer = await run();
        const text = quietly(() => form.encode(answer));
        // The next may be better, so those who wait have it made one by one; what is too long will be so again.
        if (form.keeps?.(answer) === false) turn.fail();
        else if (text !== undefined && Buffer.byteLength(text) <= maxAnswerBytes) turn.keep('whole', [text]);
        else turn.scatter();
        return answer;
      } catch (error) {
        turn.fail();
        throw error;
      }
    },

    async stream(call, form, run) {
      if (call.settings === undefined) return unused(call, run);
      const turn = await lookup.turn(call, call.settings, suffixesOf(form), (kept) => streamOf(form, kept));
      if ('answer' in turn) return turn.answer;
      try {
        return record(await run(), form, maxAnswerBytes, {
          kept: (pieces) => turn.keep('stream', pieces),
          broken: turn.fail,
          tooLong: turn.scatter,
        });
      } catch (error) {
        turn.fail();
        throw error;
      }
    },

    async peek({ settings, subject }, form) {
      if (settings === undefined) return { status: 'DISABLED' };
      const asked = await subject();
      const key = await cacheKey(asked, settings.namespace, secret);
      if (settings.forceRefresh) return { status: 'REFRESH', key };
      const maxAgeMs = settings.maxAgeSeconds * 1000;
      try {
        for (const suffix of suffixesOf(form)) {
          const kept = await options.answers.read(asked.organisationId, key + suffix, maxAgeMs);
          if (kept !== undefined) return { status: 'HIT', key, ageMs: kept.ageMs };
        }
        return { status: 'MISS', key };
      } catch {
        return { status: 'DISABLED', key, reason: 'the store of the cache does not answer' };
      }
    },
  };
}

function unused<T>(call: CacheCall, run: () => Promise<T>): Promise<T> {
  call.note({ status: 'DISABLED' });
  return run();
}

/** What cannot be written is not kept. */
function quietly<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch {
    return undefined;
  }
}
