// LM Studio, "OpenAI compatibility endpoints": served by the user, so that a custom host is required.
import type { ProviderEntry } from '../dialect.ts';

export const lmstudio: ProviderEntry = {
  id: 'lmstudio',
  name: 'LM Studio',
  dialect: 'openai',
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
};
