// Hugging Face, "Inference Providers": a router with OpenAI's API, the model in the body. A dedicated endpoint has an
// address of its own.
import type { ProviderEntry } from '../dialect.ts';
import { HUGGINGFACE } from '../options/others.ts';

export const huggingface: ProviderEntry = {
  id: 'huggingface',
  name: 'Hugging Face',
  dialect: 'openai',
  baseUrl: 'https://router.huggingface.co/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
  options: HUGGINGFACE,
  locate: ({ huggingface_base_url: baseUrl }) => (baseUrl === undefined ? {} : { baseUrl }),
};
