// Qdrant REST API, served by the user. What it has is reached by its own paths: raw pass-through with its credential.
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
