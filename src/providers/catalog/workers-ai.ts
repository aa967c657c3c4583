// Cloudflare Workers AI, "OpenAI compatible API endpoints".
import type { ProviderEntry } from '../dialect.ts';
import { WORKERS_AI } from '../options/others.ts';

export const workersAi: ProviderEntry = {
  id: 'workers-ai',
  name: 'Cloudflare Workers AI',
  dialect: 'openai',
  baseUrl: 'https://api.cloudflare.com/client/v4/accounts/{workers_ai_account_id}/ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings'],
  options: WORKERS_AI,
  prices: ['cloudflare'],
};
