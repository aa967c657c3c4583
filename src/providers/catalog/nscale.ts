// Nscale API reference, "Chat completions".
import type { ProviderEntry } from '../dialect.ts';

export const nscale: ProviderEntry = {
  id: 'nscale',
  name: 'Nscale',
  dialect: 'openai',
  baseUrl: 'https://inference.api.nscale.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model', 'images'],
  prices: ['nscale'],
};
