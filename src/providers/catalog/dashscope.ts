// Alibaba Cloud Model Studio, "OpenAI compatible" (international endpoint).
import type { ProviderEntry } from '../dialect.ts';

export const dashscope: ProviderEntry = {
  id: 'dashscope',
  name: 'DashScope',
  dialect: 'openai',
  baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
};
