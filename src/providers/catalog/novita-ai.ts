// Novita API reference.
import type { ProviderEntry } from '../dialect.ts';

export const novitaAi: ProviderEntry = {
  id: 'novita-ai',
  name: 'Novita AI',
  dialect: 'openai',
  baseUrl: 'https://api.novita.ai/openai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model'],
  prices: ['novita'],
};
