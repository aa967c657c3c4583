// vLLM, "OpenAI-compatible server": served by the user, at its own port of this machine unless a custom host says otherwise.
import type { ProviderEntry } from '../dialect.ts';

export const vllm: ProviderEntry = {
  id: 'vllm',
  name: 'vLLM',
  dialect: 'openai',
  baseUrl: 'http://127.0.0.1:8000',
  localPort: 8000,
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model', 'images', 'speech'],
};
