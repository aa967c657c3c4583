// io.net, "IO Intelligence API".
import type { ProviderEntry } from '../dialect.ts';

export const iointelligence: ProviderEntry = {
  id: 'iointelligence',
  name: 'io.net Intelligence',
  dialect: 'openai',
  baseUrl: 'https://api.intelligence.io.solutions/api/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'models', 'model'],
};
