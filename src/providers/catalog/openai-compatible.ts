// Any server that speaks OpenAI's API: the custom host names it, its base path (often /v1) included.

import type { ProviderEntry } from '../dialect.ts';
import { ALL_FAMILIES } from '../families.ts';
import { OPENAI_REALTIME } from '../realtime.ts';

export const openaiCompatible: ProviderEntry = {
  id: 'openai-compatible',
  name: 'OpenAI-compatible',
  dialect: 'openai',
  auth: 'bearer',
  keyless: true,
  // What a server of this form has is its own to say.
  native: [
    'ocr',
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
  streamUsage: 'stream_options',
  realtime: OPENAI_REALTIME,
};
