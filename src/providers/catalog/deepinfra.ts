// DeepInfra, "OpenAI API".
import type { ProviderEntry } from '../dialect.ts';

export const deepinfra: ProviderEntry = {
  id: 'deepinfra',
  name: 'DeepInfra',
  dialect: 'openai',
  baseUrl: 'https://api.deepinfra.com/v1/openai',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model', 'images', 'speech'],
  native: ['voices', 'transcriptions', 'translations'],
  prices: ['deepinfra'],
};
