// Gemini API reference ("generativelanguage.googleapis.com", v1beta).

import type { ProviderEntry } from '../dialect.ts';
import { GEMINI_REALTIME } from '../realtime.ts';

export const google: ProviderEntry = {
  id: 'google',
  name: 'Google Gemini',
  dialect: 'gemini',
  baseUrl: 'https://generativelanguage.googleapis.com',
  pathPrefix: '/v1beta',
  // A key in the query, the other way that Google accepts, would appear in logs.
  auth: { header: 'x-goog-api-key' },
  streamUsage: 'unasked',
  realtime: GEMINI_REALTIME,
  operations: ['chat', 'embeddings', 'models', 'model', 'images'],
  native: ['generateContent', 'countContentTokens', 'embedContent', 'batchEmbedContents'],
  prices: ['gemini'],
  genAiName: 'gcp.gemini',
};
