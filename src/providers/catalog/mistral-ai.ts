// Mistral API reference. It refuses members that it does not know (422 extra_forbidden), among them
// `stream_options.include_usage` and `max_completion_tokens`, and reports usage in the last chunk unasked.
import type { ProviderEntry } from '../dialect.ts';
import { FILES, PLAIN_FINE_TUNING } from '../families.ts';

export const mistralAi: ProviderEntry = {
  id: 'mistral-ai',
  name: 'Mistral AI',
  dialect: 'openai',
  baseUrl: 'https://api.mistral.ai/v1',
  auth: 'bearer',
  streamUsage: 'unasked',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'embeddings', 'moderations', 'models', 'model', 'speech'],
  // Its batches have another form: the gateway runs them.
  native: ['ocr', 'voices', 'transcriptions', ...FILES, ...PLAIN_FINE_TUNING],
  renames: { seed: 'random_seed', max_completion_tokens: 'max_tokens' },
  prices: ['mistral'],
  genAiName: 'mistral_ai',
};
