// SiliconFlow API reference.
import type { ProviderEntry } from '../dialect.ts';

export const siliconflow: ProviderEntry = {
  id: 'siliconflow',
  name: 'SiliconFlow',
  dialect: 'openai',
  baseUrl: 'https://api.siliconflow.cn/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'rerank', 'models', 'model', 'images', 'speech'],
  imageWire: 'siliconflow',
};
