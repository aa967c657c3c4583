// DeepSeek API reference: `max_tokens` is the only bound that it knows.
import type { ProviderEntry } from '../dialect.ts';

export const deepseek: ProviderEntry = {
  id: 'deepseek',
  name: 'DeepSeek',
  dialect: 'openai',
  baseUrl: 'https://api.deepseek.com',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  native: ['responses'],
  operations: ['chat', 'models', 'model'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['deepseek'],
};
