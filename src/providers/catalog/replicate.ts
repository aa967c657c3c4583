// Replicate HTTP API. Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const replicate: ProviderEntry = {
  id: 'replicate',
  name: 'Replicate',
  dialect: 'openai',
  baseUrl: 'https://api.replicate.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: [],
};
