// Alibaba Cloud Model Studio, "OpenAI compatible" (international endpoint).
import type { ProviderEntry } from '../dialect.ts';

export const dashscope: ProviderEntry = {
  id: 'dashscope',
  name: 'DashScope',
  dialect: 'openai',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  prices: ['dashscope'],
};
