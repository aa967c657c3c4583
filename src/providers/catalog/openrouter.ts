// OpenRouter API reference: usage is always reported, `stream_options.include_usage` is deprecated
// and has no effect.
import type { ProviderEntry } from '../dialect.ts';

export const openrouter: ProviderEntry = {
  id: 'openrouter',
  name: 'OpenRouter',
  dialect: 'openai',
  carries: { reasoning: true, cacheControl: true },
  baseUrl: 'https://openrouter.ai/api',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model'],
  native: ['messages', 'responses'],
  prices: ['openrouter'],
};
