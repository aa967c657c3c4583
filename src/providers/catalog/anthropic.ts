// Anthropic API reference, Messages. `anthropic_version` defaults to 2023-06-01.
import type { ProviderEntry } from '../dialect.ts';
import { text } from '../options/spec.ts';

export const anthropic: ProviderEntry = {
  id: 'anthropic',
  name: 'Anthropic',
  dialect: 'anthropic',
  filesWithoutPurpose: true,
  baseUrl: 'https://api.anthropic.com/v1',
  auth: 'x-api-key',
  streamUsage: 'unasked',
  native: ['messages', 'countTokens'],
  options: [
    text('anthropic_version', { sends: { header: 'anthropic-version', default: '2023-06-01' } }),
    text('anthropic_beta', { sends: { header: 'anthropic-beta' } }),
    {
      name: 'anthropic_inspect_stream_for_overloaded_error',
      type: 'flag',
      effect: 'none',
      from: ['stored'],
    },
  ],
  prices: ['anthropic'],
};
