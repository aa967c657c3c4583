// Stability AI REST API (images). Its other paths are called by raw pass-through with its credential.
import type { ProviderEntry } from '../dialect.ts';
import { STABILITY } from '../options/others.ts';

export const stabilityAi: ProviderEntry = {
  id: 'stability-ai',
  name: 'Stability AI',
  dialect: 'openai',
  baseUrl: 'https://api.stability.ai',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['images'],
  imageWire: 'stability',
  options: STABILITY,
};
