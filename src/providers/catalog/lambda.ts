// Lambda Inference API reference.
import type { ProviderEntry } from '../dialect.ts';

export const lambda: ProviderEntry = {
  id: 'lambda',
  name: 'Lambda',
  dialect: 'openai',
  baseUrl: 'https://api.lambdalabs.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'models', 'model'],
  prices: ['lambda_ai'],
  note: 'Lambda is winding its inference API down',
};
