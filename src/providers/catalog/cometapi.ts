// CometAPI reference.
import type { ProviderEntry } from '../dialect.ts';

export const cometapi: ProviderEntry = {
  id: 'cometapi',
  name: 'CometAPI',
  dialect: 'openai',
  baseUrl: 'https://api.cometapi.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'models', 'model', 'images', 'speech'],
};
