// Inference.net API reference.
import type { ProviderEntry } from '../dialect.ts';

export const inferenceNet: ProviderEntry = {
  id: 'inference-net',
  name: 'Inference.net',
  dialect: 'openai',
  baseUrl: 'https://api.inference.net/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
};
