// Reka API reference, "OpenAI compatibility".
import type { ProviderEntry } from '../dialect.ts';

export const rekaAi: ProviderEntry = {
  id: 'reka-ai',
  name: 'Reka',
  dialect: 'openai',
  baseUrl: 'https://api.reka.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
