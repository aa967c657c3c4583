// Predibase, "OpenAI compatible API": the tenant and the base model are parts of the address, the adapter is the model.
import type { ProviderEntry } from '../dialect.ts';
import { PREDIBASE } from '../options/others.ts';

export const predibase: ProviderEntry = {
  id: 'predibase',
  name: 'Predibase',
  dialect: 'openai',
  baseUrl:
    'https://serving.app.predibase.com/{predibase_tenant_id}/deployments/v2/llms/{predibase_deployment}',
  pathPrefix: '/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions'],
  options: PREDIBASE,
};
