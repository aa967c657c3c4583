// Nebius Token Factory API reference (before: AI Studio).
import type { ProviderEntry } from '../dialect.ts';

export const nebius: ProviderEntry = {
  id: 'nebius',
  name: 'Nebius',
  dialect: 'openai',
  baseUrl: 'https://api.tokenfactory.nebius.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model', 'images'],
  prices: ['nebius'],
};
