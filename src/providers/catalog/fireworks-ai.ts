// Fireworks API reference: usage comes with the last chunk, unasked.
import type { ProviderEntry } from '../dialect.ts';

export const fireworksAi: ProviderEntry = {
  id: 'fireworks-ai',
  name: 'Fireworks AI',
  dialect: 'openai',
  baseUrl: 'https://api.fireworks.ai/inference/v1',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model', 'images'],
  imageWire: 'fireworks',
  prices: ['fireworks_ai', 'fireworks_ai-embedding-models'],
};
