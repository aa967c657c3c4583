// Azure AI Foundry: a resource's own address, whatever path it has; OpenAI's API there, or Anthropic's where the address
// says so. The bare host of a resource means its `/openai/v1`.
import type { Location, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { AZURE_AI, AZURE_IDENTITY, AZURE_TOKEN, isAnthropicFoundry } from '../options/azure.ts';
import { text } from '../options/spec.ts';

export const azureAi: ProviderEntry = {
  id: 'azure-ai',
  name: 'Azure AI Foundry',
  dialect: 'foundry',
  auth: 'azure-foundry',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'rerank', 'models', 'model', 'images', 'speech'],
  native: ['ocr', 'transcriptions', 'translations'],
  options: [
    ...AZURE_IDENTITY,
    ...AZURE_TOKEN,
    ...AZURE_AI,
    text('azure_api_version', {
      group: 'azure',
      sends: { query: 'api-version' },
      pattern: [/^[A-Za-z0-9.-]{1,30}$/, 'must be letters, digits, dots and hyphens, at most 30'],
    }),
  ],
  locate,
  prices: ['azure_ai'],
  genAiName: 'azure.ai.inference',
};

function locate({ azure_foundry_url: url }: ProviderOptions): Location {
  if (url === undefined) return {};
  // With a custom host the option is not looked at, and may be none.
  const parsed = URL.parse(url);
  if (parsed === null) return {};
  const bare = parsed.pathname === '' || parsed.pathname === '/';
  if (isAnthropicFoundry(url)) return { baseUrl: url.replace(/\/v1\/?$/, ''), pathPrefix: '/v1' };
  return bare ? { baseUrl: parsed.origin, pathPrefix: '/openai/v1' } : { baseUrl: url };
}
