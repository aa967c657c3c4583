// Qdrant REST API, served by the user. Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const qdrant: ProviderEntry = {
  id: 'qdrant',
  name: 'Qdrant',
  dialect: 'openai',
  auth: 'api-key',
  keyless: true,
  streamUsage: 'stream_options',
  operations: [],
};
