// Bytez, "OpenAI compliant endpoint".
import type { ProviderEntry } from '../dialect.ts';

export const bytez: ProviderEntry = {
  id: 'bytez',
  name: 'Bytez',
  dialect: 'openai',
  baseUrl: 'https://api.bytez.com/models/v2/openai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings'],
};
