// Cohere API reference, version 2.
import type { ProviderEntry } from '../dialect.ts';

export const cohere: ProviderEntry = {
  id: 'cohere',
  name: 'Cohere',
  dialect: 'cohere',
  baseUrl: 'https://api.cohere.com',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['chat', 'embeddings', 'rerank', 'models', 'model'],
  // Its clients write /v2/chat and /v2/embed.
  rawPaths: { '/chat': '/v2/chat', '/embed': '/v2/embed' },
  prices: ['cohere', 'cohere_chat'],
};
