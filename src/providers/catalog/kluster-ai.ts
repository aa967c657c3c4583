// kluster.ai API reference.
import type { ProviderEntry } from '../dialect.ts';
import { FILES_AND_BATCHES } from '../families.ts';

export const klusterAi: ProviderEntry = {
  id: 'kluster-ai',
  name: 'kluster.ai',
  dialect: 'openai',
  baseUrl: 'https://api.kluster.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  native: FILES_AND_BATCHES,
  operations: ['chat', 'embeddings', 'models', 'model'],
};
