// MonsterAPI, "LLM inference": OpenAI's API.
import type { ProviderEntry } from '../dialect.ts';

export const monsterapi: ProviderEntry = {
  id: 'monsterapi',
  name: 'MonsterAPI',
  dialect: 'openai',
  baseUrl: 'https://llm.monsterapi.ai/v1',
  auth: 'bearer',
  streamUsage: 'stream_options',
  operations: ['chat', 'models', 'model'],
};
