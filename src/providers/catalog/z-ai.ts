// Z.AI API reference: usage comes with the last chunk, unasked; `max_tokens` is the bound that it knows.
import type { ProviderEntry } from '../dialect.ts';

export const zAi: ProviderEntry = {
  id: 'z-ai',
  name: 'Z.AI',
  dialect: 'openai',
  carries: { reasoning: true },
  baseUrl: 'https://api.z.ai/api/paas/v4',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['chat', 'images', 'speech'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['zai'],
};
