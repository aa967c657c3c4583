// Hyperbolic API reference.
import type { ProviderEntry } from '../dialect.ts';

export const hyperbolic: ProviderEntry = {
  id: 'hyperbolic',
  name: 'Hyperbolic',
  dialect: 'openai',
  baseUrl: 'https://api.hyperbolic.xyz',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model', 'images'],
  imageWire: 'hyperbolic',
  prices: ['hyperbolic'],
};
