// Matter AI API reference.
import type { ProviderEntry } from '../dialect.ts';

export const matterai: ProviderEntry = {
  id: 'matterai',
  name: 'Matter AI',
  dialect: 'openai',
  baseUrl: 'https://api.matterai.so/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
