// Any server that speaks OpenAI's API: the custom host names it, its base path (often /v1) included.
import type { ProviderEntry } from '../dialect.ts';

export const openaiCompatible: ProviderEntry = {
  id: 'openai-compatible',
  name: 'OpenAI-compatible',
  dialect: 'openai',
  auth: 'bearer',
  keyless: true,
  streamUsage: 'stream_options',
  native: ['ocr', 'voices'],
};
