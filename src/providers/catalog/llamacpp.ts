// llama.cpp, "server": OpenAI-compatible routes: served by the user, at its own port of this machine unless a custom host says otherwise.
import type { ProviderEntry } from '../dialect.ts';

export const llamacpp: ProviderEntry = {
  id: 'llamacpp',
  name: 'llama.cpp',
  dialect: 'openai',
  baseUrl: 'http://127.0.0.1:8080',
  localPort: 8080,
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model'],
};
