// 01.AI API reference, "Chat Completion".
import type { ProviderEntry } from '../dialect.ts';

export const lingyi: ProviderEntry = {
  id: 'lingyi',
  name: '01.AI',
  dialect: 'openai',
  baseUrl: 'https://api.lingyiwanwu.com',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
