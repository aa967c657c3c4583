// Latitude.sh, "AI inference": OpenAI's API.
import type { ProviderEntry } from '../dialect.ts';

export const latitude: ProviderEntry = {
  id: 'latitude',
  name: 'Latitude.sh',
  dialect: 'openai',
  baseUrl: 'https://api.lsh.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
