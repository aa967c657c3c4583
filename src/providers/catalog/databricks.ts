// Databricks, "Foundation Model APIs": OpenAI's API below the workspace's serving endpoints.
import type { ProviderEntry } from '../dialect.ts';
import { DATABRICKS } from '../options/others.ts';

export const databricks: ProviderEntry = {
  id: 'databricks',
  name: 'Databricks',
  dialect: 'openai',
  baseUrl: 'https://{databricks_workspace}.cloud.databricks.com/serving-endpoints',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings'],
  options: DATABRICKS,
  prices: ['databricks'],
};
