// Recraft API reference (images in OpenAI's form). Its other paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';

export const recraftAi: ProviderEntry = {
  id: 'recraft-ai',
  name: 'Recraft',
  dialect: 'openai',
  baseUrl: 'https://external.api.recraft.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['images'],
};
