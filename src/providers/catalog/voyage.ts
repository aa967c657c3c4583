// Voyage AI, "Text embeddings": OpenAI's form with members of its own (input_type, truncation, output_dimension).
import type { ProviderEntry } from '../dialect.ts';

export const voyage: ProviderEntry = {
  id: 'voyage',
  name: 'Voyage AI',
  dialect: 'openai',
  baseUrl: 'https://api.voyageai.com/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['embeddings', 'rerank'],
  renames: { dimensions: 'output_dimension', top_n: 'top_k' },
  prices: ['voyage'],
};
