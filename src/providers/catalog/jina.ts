// Jina AI, "Embeddings API": OpenAI's form with members of its own (task, late_chunking, dimensions).
import type { ProviderEntry } from '../dialect.ts';

export const jina: ProviderEntry = {
  id: 'jina',
  name: 'Jina AI',
  dialect: 'openai',
  baseUrl: 'https://api.jina.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['embeddings', 'rerank'],
  prices: ['jina_ai'],
};
