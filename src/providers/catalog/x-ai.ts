// xAI API reference.

import type { ProviderEntry } from '../dialect.ts';
import { OPENAI_REALTIME } from '../realtime.ts';

export const xAi: ProviderEntry = {
  id: 'x-ai',
  name: 'xAI',
  dialect: 'openai',
  baseUrl: 'https://api.x.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  realtime: OPENAI_REALTIME,
  reasoning: 'apart',
  native: ['responses', 'getResponse', 'deleteResponse', 'realtimeSecret'],
  operations: ['chat', 'completions', 'embeddings', 'models', 'model', 'images', 'speech'],
  prices: ['xai'],
  genAiName: 'x_ai',
};
