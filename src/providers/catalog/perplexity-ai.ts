// Perplexity API reference: usage comes with every chunk.
import type { ProviderEntry } from '../dialect.ts';

export const perplexityAi: ProviderEntry = {
  id: 'perplexity-ai',
  name: 'Perplexity',
  dialect: 'openai',
  baseUrl: 'https://api.perplexity.ai',
  auth: 'bearer',
  streamUsage: 'unasked',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['perplexity'],
  genAiName: 'perplexity',
};
