// Featherless API reference.
import type { ProviderEntry } from '../dialect.ts';

export const featherlessAi: ProviderEntry = {
  id: 'featherless-ai',
  name: 'Featherless AI',
  dialect: 'openai',
  baseUrl: 'https://api.featherless.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'models', 'model'],
  prices: ['featherless_ai'],
};
