// AI Badgr API reference.
import type { ProviderEntry } from '../dialect.ts';

export const aibadgr: ProviderEntry = {
  id: 'aibadgr',
  name: 'AI Badgr',
  dialect: 'openai',
  baseUrl: 'https://aibadgr.com/api/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
