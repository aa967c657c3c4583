// Anyscale Endpoints, "OpenAI API".
import type { ProviderEntry } from '../dialect.ts';

export const anyscale: ProviderEntry = {
  id: 'anyscale',
  name: 'Anyscale',
  dialect: 'openai',
  baseUrl: 'https://api.endpoints.anyscale.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  prices: ['anyscale'],
};
