// Together API reference, "OpenAI compatibility"; its list of models is a bare array.
import type { ProviderEntry } from '../dialect.ts';
import { FILES_AND_BATCHES } from '../families.ts';

export const togetherAi: ProviderEntry = {
  id: 'together-ai',
  name: 'Together AI',
  dialect: 'openai',
  baseUrl: 'https://api.together.xyz',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model', 'images', 'speech'],
  native: ['voices', 'transcriptions', 'translations', ...FILES_AND_BATCHES],
  imageWire: 'together',
  renames: { max_completion_tokens: 'max_tokens' },
  paths: { uploadFile: '/v1/files/upload' },
  prices: ['together_ai'],
};
