// 302.AI API reference, "Chat".
import type { ProviderEntry } from '../dialect.ts';

export const ai302: ProviderEntry = {
  id: '302ai',
  name: '302.AI',
  dialect: 'openai',
  baseUrl: 'https://api.302.ai',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'models', 'model', 'images', 'speech'],
};
