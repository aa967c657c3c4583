// The cache as a stage of the pipeline: around an attempt's call, by operation.
import type { DescMessage, MessageShape } from '@bufbuild/protobuf';
import {
  type ChatCompletion,
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { type Completion, CompletionSchema } from '../../../gen/gateway/inference/v2/completions_pb.ts';
import { EmbeddingsSchema } from '../../../gen/gateway/inference/v2/embeddings_pb.ts';
import { ModerationSchema } from '../../../gen/gateway/inference/v2/moderations_pb.ts';
import type { Call } from '../../access/call.ts';
import type { MessageJson } from '../../providers/dialect.ts';
import { type CachedAttempt, cacheCallOf } from './call-of.ts';
import { streamedMessages, wholeMessages } from './message-forms.ts';
import type { ResponseCache } from './response-cache.ts';

/** Pieces of streamed operations, and the whole answers that they come from. */
interface Streams {
  readonly chat: { readonly chunk: ChatCompletionChunk; readonly whole: ChatCompletion };
  readonly completions: { readonly chunk: Completion; readonly whole: Completion };
}

/** What a stream's caller asks of it. */
export interface AskedStream<N extends keyof Streams> {
  /** Whether the last piece shall be the usage. */
  readonly usage: boolean;
  /** A whole answer's pieces for this request (`operation.wholeAsChunks`). */
  readonly pieces: (answer: Streams[N]['whole']) => readonly Streams[N]['chunk'][];
}

/**
 * Wraps an attempt. An attempt that does not use the cache is only run:
 *
 *     const run = () => callWhole(…);
 *     return bound.plan.cache === undefined
 *       ? run()
 *       : pipeline.cache.whole(call, { bound, dialect, operation: name, outbound: () => operation.request(own, context), model, signal }, run);
 */
export interface AttemptCache {
  /** @throws what `run` throws, the signal's reason, and invalid_header for a bad namespace. */
  whole<Answer>(call: Call, attempt: CachedAttempt, run: () => Promise<Answer>): Promise<Answer>;
  /** @throws as `whole`. */
  stream<N extends keyof Streams>(
    call: Call,
    attempt: CachedAttempt & { readonly operation: N },
    asked: AskedStream<N>,
    run: () => Promise<AsyncIterable<Streams[N]['chunk']>>,
  ): Promise<AsyncIterable<Streams[N]['chunk']>>;
}

const ANSWERS: Readonly<Record<string, DescMessage>> = {
  chat: ChatCompletionSchema,
  completions: CompletionSchema,
  embeddings: EmbeddingsSchema,
  moderations: ModerationSchema,
};

/** @param json messages from JSON and back, for those who look at what is kept */
export function createAttemptCache(cache: ResponseCache, json: MessageJson): AttemptCache {
  return {
    whole<Answer>(call: Call, attempt: CachedAttempt, run: () => Promise<Answer>) {
      const schema = ANSWERS[attempt.operation];
      if (schema === undefined) return run();
      const form = wholeMessages(json, schema);
      // The schema is the operation's, and so is the answer.
      return cache.whole(cacheCallOf(call, attempt), form, run as never) as Promise<Answer>;
    },

    stream<N extends keyof Streams>(
      call: Call,
      attempt: CachedAttempt & { readonly operation: N },
      { usage, pieces }: AskedStream<N>,
      run: () => Promise<AsyncIterable<Streams[N]['chunk']>>,
    ) {
      call.trail.streamed = true;
      const [chunks, answers]: readonly DescMessage[] =
        attempt.operation === 'chat'
          ? [ChatCompletionChunkSchema, ChatCompletionSchema]
          : [CompletionSchema, CompletionSchema];
      const whole = wholeMessages(json, answers!);
      const form = streamedMessages(
        json,
        chunks!,
        usage,
        (body) => pieces(whole.decode(body) as Streams[N]['whole']) as readonly MessageShape<DescMessage>[],
      );
      return cache.stream(cacheCallOf(call, attempt), form, run as never) as Promise<
        AsyncIterable<Streams[N]['chunk']>
      >;
    },
  };
}
