// Ollama, "OpenAI compatibility": served by the user, at its own port of this machine unless a custom host says otherwise.
import type { ProviderEntry } from '../dialect.ts';

export const ollama: ProviderEntry = {
  id: 'ollama',
  name: 'Ollama',
  dialect: 'openai',
  baseUrl: 'http://127.0.0.1:11434',
  localPort: 11434,
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model', 'images'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['ollama'],
};
