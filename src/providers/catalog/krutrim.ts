// Krutrim Cloud API reference.
import type { ProviderEntry } from '../dialect.ts';

export const krutrim: ProviderEntry = {
  id: 'krutrim',
  name: 'Krutrim',
  dialect: 'openai',
  baseUrl: 'https://cloud.olakrutrim.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
