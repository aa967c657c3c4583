// Upstage console documents, "Chat" and "Embeddings".
import type { ProviderEntry } from '../dialect.ts';

export const upstage: ProviderEntry = {
  id: 'upstage',
  name: 'Upstage',
  dialect: 'openai',
  baseUrl: 'https://api.upstage.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings'],
};
