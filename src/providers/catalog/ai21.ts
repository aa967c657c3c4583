// AI21 Studio, "Jamba": chat in OpenAI's form. The API was announced to end on 2026-08-09.
import type { ProviderEntry } from '../dialect.ts';

export const ai21: ProviderEntry = {
  id: 'ai21',
  name: 'AI21 Labs',
  dialect: 'openai',
  baseUrl: 'https://api.ai21.com/studio/v1',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['chat'],
  renames: { max_completion_tokens: 'max_tokens' },
  prices: ['ai21'],
  note: 'AI21 announced that the Jamba API ends on 2026-08-09',
};
