// Cerebras Inference API reference.
import type { ProviderEntry } from '../dialect.ts';

export const cerebras: ProviderEntry = {
  id: 'cerebras',
  name: 'Cerebras',
  dialect: 'openai',
  baseUrl: 'https://api.cerebras.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
  prices: ['cerebras'],
};
