// kluster.ai API reference.
import type { ProviderEntry } from '../dialect.ts';

export const klusterAi: ProviderEntry = {
  id: 'kluster-ai',
  name: 'kluster.ai',
  dialect: 'openai',
  baseUrl: 'https://api.kluster.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'models', 'model'],
};
