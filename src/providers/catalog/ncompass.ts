// nCompass API reference.
import type { ProviderEntry } from '../dialect.ts';

export const ncompass: ProviderEntry = {
  id: 'ncompass',
  name: 'nCompass',
  dialect: 'openai',
  baseUrl: 'https://api.ncompass.tech/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
