// xAI API reference.
import type { ProviderEntry } from '../dialect.ts';

export const xAi: ProviderEntry = {
  id: 'x-ai',
  name: 'xAI',
  dialect: 'openai',
  baseUrl: 'https://api.x.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  reasoning: 'apart',
  native: ['responses', 'getResponse', 'deleteResponse'],
  operations: ['chat', 'completions', 'embeddings', 'models', 'model', 'images', 'speech'],
  prices: ['xai'],
  genAiName: 'x_ai',
};
