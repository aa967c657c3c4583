// GitHub Models REST API: chat and embeddings under /inference.
import type { ProviderEntry } from '../dialect.ts';

export const github: ProviderEntry = {
  id: 'github',
  name: 'GitHub Models',
  dialect: 'openai',
  baseUrl: 'https://models.github.ai/inference',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings'],
};
