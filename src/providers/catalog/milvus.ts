// Milvus RESTful API, served by the user. Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const milvus: ProviderEntry = {
  id: 'milvus',
  name: 'Milvus',
  dialect: 'openai',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: [],
};
