// Tripo API (3D). Its own paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const tripo3d: ProviderEntry = {
  id: 'tripo3d',
  name: 'Tripo',
  dialect: 'openai',
  baseUrl: 'https://api.tripo3d.ai/v2/openapi',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: [],
};
