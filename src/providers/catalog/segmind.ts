// Segmind API (images). Its other paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const segmind: ProviderEntry = {
  id: 'segmind',
  name: 'Segmind',
  dialect: 'openai',
  baseUrl: 'https://api.segmind.com/v1',
  auth: 'x-api-key',
  streamUsage: 'stream_options',
  operations: ['images'],
  imageWire: 'segmind',
};
