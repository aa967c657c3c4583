// OpenAI API reference ("Authentication": organization and project).

import type { ProviderEntry } from '../dialect.ts';
import { ALL_FAMILIES } from '../families.ts';
import { KEEPS_RESPONSES } from '../keeps-responses.ts';
import { text } from '../options/spec.ts';
import { OPENAI_REALTIME } from '../realtime.ts';

export const openai: ProviderEntry = {
  id: 'openai',
  name: 'OpenAI',
  dialect: 'openai',
  carries: { bound: 'max_completion_tokens', tiers: true },
  baseUrl: 'https://api.openai.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  fileIds: true,
  ownWords: true,
  realtime: OPENAI_REALTIME,
  native: [
    ...KEEPS_RESPONSES,
    'voices',
    'imageEdits',
    'imageVariations',
    'transcriptions',
    'translations',
    'realtimeSecret',
    'realtimeSession',
    'transcriptionSession',
    ...ALL_FAMILIES,
  ],
  options: [
    text('openai_organization', { effect: 'account', sends: { header: 'openai-organization' } }),
    text('openai_project', { effect: 'account', sends: { header: 'openai-project' } }),
    text('openai_beta', { sends: { header: 'openai-beta' } }),
  ],
  prices: ['openai', 'text-completion-openai'],
};
