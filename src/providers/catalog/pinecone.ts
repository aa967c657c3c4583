// Pinecone API reference: `Api-Key: <key>`. Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const pinecone: ProviderEntry = {
  id: 'pinecone',
  name: 'Pinecone',
  dialect: 'pinecone',
  baseUrl: 'https://api.pinecone.io',
  auth: { header: 'api-key' },
  streamUsage: 'stream_options',
  operations: ['rerank'],
};
