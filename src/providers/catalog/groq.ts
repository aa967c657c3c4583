// Groq API reference, "OpenAI compatibility"; the last chunk repeats the usage as `x_groq.usage`.
import type { ProviderEntry } from '../dialect.ts';
import { FILES_AND_BATCHES } from '../families.ts';

export const groq: ProviderEntry = {
  id: 'groq',
  name: 'Groq',
  dialect: 'openai',
  baseUrl: 'https://api.groq.com/openai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  // Goes on, and is paid, when the connection is closed (OpenRouter, "Streaming", part "Stream cancellation").
  onClientCut: 'drain',
  native: ['responses', 'transcriptions', 'translations', ...FILES_AND_BATCHES],
  operations: ['chat', 'models', 'model', 'speech'],
  prices: ['groq'],
};
