// Cohere's dialect: version 2 of its API in OpenAI's shape.
import type { Dialect, MessageJson, ProviderEntry } from '../../dialect.ts';
import { tapUsage } from '../../usage/tap.ts';
import { chat } from './chat.ts';
import { embeddings } from './embeddings.ts';
import { readError } from './error.ts';
import { model } from './model.ts';
import { models } from './models.ts';
import { rerank } from './rerank.ts';

const NONE: readonly string[] = Object.freeze([]);

/** The dialect of Cohere's API. */
export function createCohereDialect(json: MessageJson): Dialect {
  return Object.freeze({
    name: 'cohere',
    chat: chat(json),
    embeddings: embeddings(json),
    rerank: rerank(json),
    models: models(),
    model: model(),
    headers: () => NONE,
    error: readError,
    tapUsage: (provider: ProviderEntry) => tapUsage(json, provider),
  });
}
