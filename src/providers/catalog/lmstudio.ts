// LM Studio, "OpenAI compatibility endpoints": served by the user, at its own port of this machine unless a custom host says otherwise.
import type { ProviderEntry } from '../dialect.ts';

export const lmstudio: ProviderEntry = {
  id: 'lmstudio',
  name: 'LM Studio',
  dialect: 'openai',
  baseUrl: 'http://127.0.0.1:1234',
  localPort: 1234,
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
};
