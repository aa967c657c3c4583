// BigModel open platform, "OpenAI API compatibility".
import type { ProviderEntry } from '../dialect.ts';

export const zhipu: ProviderEntry = {
  id: 'zhipu',
  name: 'Zhipu AI',
  dialect: 'openai',
  carries: { reasoning: true },
  baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings'],
  prices: ['bigmodel'],
};
