// Reads recordings through a provider's own entry.

import {
  type ChatCompletionChunk,
  ChatCompletionChunkSchema,
  ChatCompletionSchema,
  CreateChatCompletionRequestSchema,
} from '../../../gen/gateway/inference/v2/chat_pb.ts';
import { UsageSchema } from '../../../gen/gateway/inference/v2/common_pb.ts';
import { GatewayError } from '../../../src/lib/errors.ts';
import { rawJsonOf } from '../../../src/lib/raw-json.ts';
import { answerReader } from '../../../src/providers/answer-reader.ts';
import type { UsageReport } from '../../../src/providers/usage/report.ts';
import { codec } from '../../../src/rest/codec.ts';
import { dialects } from '../support/golden.ts';
import { textOfBody } from '../support/outbound-body.ts';
import { piecesOf } from '../support/pieces-of.ts';
import { contextOf, targetOf } from '../support/target.ts';

type Json = Record<string, never>;

const REQUEST = codec.decodeRequest(CreateChatCompletionRequestSchema, {
  model: 'm',
  messages: [{ role: 'user', content: 'Hi' }],
  stream_options: { include_usage: true },
});

/** One provider's chat, read as the edge would write it. */
export function replay(id: string, strict = true) {
  const target = targetOf(id, { strict });
  const dialect = dialects.get(target.provider.dialect)!;
  const chat = dialect.chat!;
  const context = contextOf(target);
  const text = (raw: string | Uint8Array): Json => JSON.parse(Buffer.from(raw).toString('utf8')) as Json;
  function streamed(pieces: Iterable<Uint8Array>, ends: 'well' | 'error') {
    const translator = chat.stream(REQUEST, context);
    const texts: string[] = [];
    const take = (found: Parameters<typeof piecesOf<ChatCompletionChunk>>[0]): void => {
      for (const chunk of piecesOf(found)) {
        const raw = rawJsonOf(chunk) ?? JSON.stringify(codec.encode(ChatCompletionChunkSchema, chunk));
        texts.push(typeof raw === 'string' ? raw : Buffer.from(raw).toString('utf8'));
      }
    };
    const reader = answerReader(translator, dialect.framing ?? 'sse', take);
    let error: GatewayError | undefined;
    try {
      for (const piece of pieces) reader.push(piece);
      reader.end();
      take(translator.end());
    } catch (thrown) {
      if (ends === 'well' || !(thrown instanceof GatewayError)) throw thrown;
      error = thrown;
    }
    return { texts, usage: counts(translator.usage()), error };
  }
  return {
    dialect,
    /** What the provider gets of a request with this JSON. */
    request(json: object): string {
      const request = codec.decodeRequest(CreateChatCompletionRequestSchema, json);
      return textOfBody(chat.request(request, context).body);
    },
    whole(body: Uint8Array) {
      const { answer, usage } = chat.response(body, REQUEST, context);
      const raw = rawJsonOf(answer);
      return {
        json: raw === undefined ? (codec.encode(ChatCompletionSchema, answer) as Json) : text(raw),
        usage: counts(usage),
      };
    },
    /** @param ends `error`: an error is told and not thrown */
    stream(pieces: Iterable<Uint8Array>, ends: 'well' | 'error' = 'well') {
      const { texts, usage, error } = streamed(pieces, ends);
      return { chunks: texts.map(text), usage, error };
    },
    /** As `stream`, in a text that is the same where all that would be written is: for comparing many cuts. */
    told(pieces: Iterable<Uint8Array>): string {
      return JSON.stringify(streamed(pieces, 'well'));
    },
  };
}

function counts(usage: UsageReport): Record<string, number> | undefined {
  return typeof usage === 'object' ? (codec.encode(UsageSchema, usage) as Record<string, number>) : undefined;
}
