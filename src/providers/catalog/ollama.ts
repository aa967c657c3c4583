// Ollama, "OpenAI compatibility": served by the user, so that a custom host is required.
import type { ProviderEntry } from '../dialect.ts';

export const ollama: ProviderEntry = {
  id: 'ollama',
  name: 'Ollama',
  dialect: 'openai',
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['ollama'],
};
