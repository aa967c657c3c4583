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
  prices: ['cohere', 'cohere_chat'],
};
