// Lemonfox.ai API reference.
import type { ProviderEntry } from '../dialect.ts';

export const lemonfoxAi: ProviderEntry = {
  id: 'lemonfox-ai',
  name: 'Lemonfox.ai',
  dialect: 'openai',
  baseUrl: 'https://api.lemonfox.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model', 'images', 'speech'],
  native: ['voices', 'transcriptions'],
};
