// Meshy API (3D). Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const meshy: ProviderEntry = {
  id: 'meshy',
  name: 'Meshy',
  dialect: 'openai',
  baseUrl: 'https://api.meshy.ai/openapi/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: [],
};
