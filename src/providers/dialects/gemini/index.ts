// Google's dialect: generateContent in OpenAI's shape.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { nativeBatchEmbed, nativeCount, nativeEmbed, nativeGenerate } from '../../forms/gemini/native.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';
import { embeddings } from './embeddings.ts';
import { readError } from './error.ts';
import { images } from './images.ts';
import { model } from './model.ts';
import { models } from './models.ts';

const NONE: readonly string[] = Object.freeze([]);

/** The dialect of the Gemini API. */
export function createGeminiDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'gemini',
    chat: chat(json),
    generateContent: nativeGenerate(json),
    countContentTokens: nativeCount(json),
    embedContent: nativeEmbed(json),
    batchEmbedContents: nativeBatchEmbed(json),
    embeddings: embeddings(json),
    images: images(json),
    models: models(),
    model: model(),
    headers: () => NONE,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
