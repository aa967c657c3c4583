// Bedrock's dialect: Converse and ConverseStream behind OpenAI's shape.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { nativeInvoke } from '../../forms/bedrock/invoke-native.ts';
import { nativeConverse } from '../../forms/bedrock/native.ts';
import { sentHeaders } from '../../options/sent.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';
import { embeddings } from './embeddings.ts';
import { readError } from './error.ts';
import { images } from './images.ts';
import { rerank } from './rerank.ts';

/** The dialect of Bedrock Runtime. */
export function createBedrockDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'bedrock',
    framing: 'aws-event-stream',
    chat: chat(json),
    converse: nativeConverse(json),
    invokeModel: nativeInvoke(json),
    embeddings: embeddings(json),
    images: images(),
    rerank: rerank(json),
    headers: sentHeaders,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  } as const);
}
