// DeepBricks API reference.
import type { ProviderEntry } from '../dialect.ts';

export const deepbricks: ProviderEntry = {
  id: 'deepbricks',
  name: 'DeepBricks',
  dialect: 'openai',
  baseUrl: 'https://api.deepbricks.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model', 'images'],
};
