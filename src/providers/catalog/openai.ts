// OpenAI API reference.
import type { ProviderEntry } from '../dialect.ts';

export const openai: ProviderEntry = {
  id: 'openai',
  name: 'OpenAI',
  dialect: 'openai',
  baseUrl: 'https://api.openai.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  options: ['openai_organization', 'openai_project', 'openai_beta'],
};
