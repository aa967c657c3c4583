// Snowflake, "Cortex REST API": OpenAI's chat under /api/v2/cortex/v1, by a programmatic access token or an OAuth token.
// Streams have no finish reason.
import type { ProviderEntry } from '../dialect.ts';
import { SNOWFLAKE } from '../options/others.ts';

export const cortex: ProviderEntry = {
  id: 'cortex',
  name: 'Snowflake Cortex',
  dialect: 'openai',
  baseUrl: 'https://{snowflake_account}.snowflakecomputing.com/api/v2/cortex/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat'],
  options: SNOWFLAKE,
  prices: ['snowflake'],
};
