// Lepton AI, "OpenAI compatible API". The service is winding down.
import type { ProviderEntry } from '../dialect.ts';

export const lepton: ProviderEntry = {
  id: 'lepton',
  name: 'Lepton AI',
  dialect: 'openai',
  baseUrl: 'https://api.lepton.ai',
  pathPrefix: '/api/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
  note: 'Lepton AI is winding down',
};
