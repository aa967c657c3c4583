// Featherless API reference.
import type { ProviderEntry } from '../dialect.ts';

export const featherlessAi: ProviderEntry = {
  id: 'featherless-ai',
  name: 'Featherless AI',
  dialect: 'openai',
  baseUrl: 'https://api.featherless.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
};
