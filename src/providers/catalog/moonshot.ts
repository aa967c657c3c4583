// Moonshot API reference; it also repeats the usage inside the last choice of a stream.
import type { ProviderEntry } from '../dialect.ts';

export const moonshot: ProviderEntry = {
  id: 'moonshot',
  name: 'Moonshot AI',
  dialect: 'openai',
  // Turns with tools want the reasoning back.
  carries: { reasoning: true },
  baseUrl: 'https://api.moonshot.cn',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['moonshot'],
};
