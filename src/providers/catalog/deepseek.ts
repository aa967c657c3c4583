// DeepSeek API reference: `max_tokens` is the only bound that it knows.
import type { ProviderEntry } from '../dialect.ts';

export const deepseek: ProviderEntry = {
  id: 'deepseek',
  name: 'DeepSeek',
  dialect: 'openai',
  paths: { messages: '/anthropic/v1/messages' },
  baseUrl: 'https://api.deepseek.com',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  native: ['messages', 'responses'],
  operations: ['chat', 'models', 'model'],
  renames: { max_completion_tokens: 'max_tokens' },
  // Turns with tools want the reasoning back (DeepSeek API, "Thinking mode").
  carries: { reasoning: true },
  prices: ['deepseek'],
};
