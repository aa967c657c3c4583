// Lambda Inference API reference.
import type { ProviderEntry } from '../dialect.ts';

export const lambda: ProviderEntry = {
  id: 'lambda',
  name: 'Lambda',
  dialect: 'openai',
  baseUrl: 'https://api.lambdalabs.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
};
