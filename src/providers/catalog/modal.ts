// Modal, "Serverless LLM endpoints": OpenAI's API; own deployments are named by a custom host.
import type { ProviderEntry } from '../dialect.ts';

export const modal: ProviderEntry = {
  id: 'modal',
  name: 'Modal',
  dialect: 'openai',
  baseUrl: 'https://api.modal.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'models', 'model'],
};
