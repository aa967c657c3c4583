// Cloudflare Workers AI, "OpenAI compatible API endpoints".
import type { ProviderEntry } from '../dialect.ts';
import { WORKERS_AI } from '../options/others.ts';

const IMAGES = 'https://api.cloudflare.com/client/v4/accounts/{workers_ai_account_id}/ai/run';

export const workersAi: ProviderEntry = {
  id: 'workers-ai',
  name: 'Cloudflare Workers AI',
  dialect: 'openai',
  baseUrl: 'https://api.cloudflare.com/client/v4/accounts/{workers_ai_account_id}/ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'images'],
  imageWire: 'workers-ai',
  options: WORKERS_AI,
  // Images have no path in OpenAI's form.
  locate: (_options, operation) => (operation === 'images' ? { baseUrl: IMAGES } : {}),
  prices: ['cloudflare'],
};
