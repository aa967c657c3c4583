// Inference.net API reference.
import type { ProviderEntry } from '../dialect.ts';

export const inferenceNet: ProviderEntry = {
  id: 'inference-net',
  name: 'Inference.net',
  dialect: 'openai',
  baseUrl: 'https://api.inference.net/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
};
