// Xorbits Inference, "OpenAI API": served by the user, so that a custom host is required.
import type { ProviderEntry } from '../dialect.ts';

export const xinference: ProviderEntry = {
  id: 'xinference',
  name: 'Xinference',
  dialect: 'openai',
  pathPrefix: '/v1',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model', 'images', 'speech'],
  native: ['voices'],
};
