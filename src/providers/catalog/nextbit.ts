// Nextbit API reference.
import type { ProviderEntry } from '../dialect.ts';

export const nextbit: ProviderEntry = {
  id: 'nextbit',
  name: 'Nextbit',
  dialect: 'openai',
  baseUrl: 'https://api.nextbit256.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
};
