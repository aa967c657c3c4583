// Anthropic API reference, Messages. `anthropic_version` defaults to 2023-06-01.
import type { ProviderEntry } from '../dialect.ts';

export const anthropic: ProviderEntry = {
  id: 'anthropic',
  name: 'Anthropic',
  dialect: 'anthropic',
  baseUrl: 'https://api.anthropic.com/v1',
  auth: 'x-api-key',
  streamUsage: 'unasked',
  options: ['anthropic_version', 'anthropic_beta'],
};
