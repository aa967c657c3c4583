// The PaLM API (v1beta3), which Google has ended: kept so that calls that name it are told what to name instead.
import type { ProviderEntry } from '../dialect.ts';

export const palm: ProviderEntry = {
  id: 'palm',
  name: 'Google PaLM',
  dialect: 'openai',
  baseUrl: 'https://generativelanguage.googleapis.com/v1beta3',
  auth: { header: 'x-goog-api-key' },
  streamUsage: 'unasked',
  operations: [],
  note: 'Google has ended the PaLM API: use the provider google',
};
