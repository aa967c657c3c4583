// OVHcloud, "AI Endpoints": one address for all models, OpenAI's API.
import type { ProviderEntry } from '../dialect.ts';

export const ovhcloud: ProviderEntry = {
  id: 'ovhcloud',
  name: 'OVHcloud AI Endpoints',
  dialect: 'openai',
  baseUrl: 'https://oai.endpoints.kepler.ai.cloud.ovh.net/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  prices: ['ovhcloud'],
};
