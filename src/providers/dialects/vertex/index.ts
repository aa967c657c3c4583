// Vertex AI's dialect: models of several makers, each by its own wire.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { sentHeaders } from '../../options/sent.ts';
import { tapUsage } from '../../usage/tap.ts';
import { readError } from '../gemini/error.ts';
import { chat } from './chat.ts';
import { embeddings } from './embeddings.ts';
import { countContentTokens, generateContent } from './generate-content.ts';
import { images } from './images.ts';
import { messages } from './messages.ts';

/** The dialect of Vertex AI. */
export function createVertexDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'vertex',
    chat: chat(json),
    messages: messages(json),
    generateContent: generateContent(json),
    countContentTokens: countContentTokens(json),
    embeddings: embeddings(json),
    images: images(json),
    headers: sentHeaders,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
