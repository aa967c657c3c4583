// SambaNova API reference.
import type { ProviderEntry } from '../dialect.ts';

export const sambanova: ProviderEntry = {
  id: 'sambanova',
  name: 'SambaNova',
  dialect: 'openai',
  baseUrl: 'https://api.sambanova.ai',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  prices: ['sambanova'],
};
