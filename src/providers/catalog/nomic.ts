// Nomic Atlas API reference, "Generate text embeddings".
import type { ProviderEntry } from '../dialect.ts';

export const nomic: ProviderEntry = {
  id: 'nomic',
  name: 'Nomic',
  dialect: 'nomic',
  baseUrl: 'https://api-atlas.nomic.ai/v1',
  auth: 'bearer',
  streamUsage: 'unasked',
  operations: ['embeddings'],
};
