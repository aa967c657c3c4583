// Vertex AI ("REST reference", v1): the region is part of the host and of the path, the project part of the path.
import { urlText } from '../../lib/url-text.ts';
import type { Location, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { parsedObject, textOf } from '../json-object.ts';
import type { OperationName } from '../operations.ts';
import { optionError } from '../options/named.ts';
import { VERTEX } from '../options/vertex.ts';

/** Regions that are several ("Data residency"): their hosts are named otherwise. */
const MULTI_REGIONS = ['us', 'eu'];

export const vertexAi: ProviderEntry = {
  id: 'vertex-ai',
  name: 'Google Vertex AI',
  dialect: 'vertex',
  baseUrl: 'https://{vertex_region}-aiplatform.googleapis.com',
  auth: 'google',
  streamUsage: 'stream_options',
  operations: ['chat', 'embeddings', 'images'],
  native: ['messages', 'generateContent', 'countContentTokens'],
  options: VERTEX,
  locate,
  prices: [
    'vertex_ai',
    'vertex_ai-language-models',
    'vertex_ai-embedding-models',
    'vertex_ai-anthropic_models',
    'vertex_ai-mistral_models',
    'vertex_ai-llama_models',
    'vertex_ai-openai_models',
    'vertex_ai-qwen_models',
    'vertex_ai-deepseek_models',
    'vertex_ai-zai_models',
    'vertex_ai-moonshot_models',
    'vertex_ai-minimax_models',
  ],
  genAiName: 'gcp.vertex_ai',
};

function locate(options: ProviderOptions, operation: OperationName | undefined): Location {
  const region = options.vertex_region ?? 'global';
  const base = baseOf(region);
  if (operation === undefined) return base;
  const project = projectOf(options);
  if (project === undefined) throw optionError(vertexAi, 'vertex_project_id', 'is required for vertex-ai');
  const path = [project, region].map(urlText);
  return { ...base, pathPrefix: `/v1/projects/${path[0]}/locations/${path[1]}` };
}

function baseOf(region: string): Location {
  if (region === 'global') return { baseUrl: 'https://aiplatform.googleapis.com' };
  if (MULTI_REGIONS.includes(region)) return { baseUrl: `https://aiplatform.${region}.rep.googleapis.com` };
  return {};
}

/** The service account's project where none is named. */
function projectOf(options: ProviderOptions): string | undefined {
  const { vertex_project_id: named, vertex_service_account_json: text } = options;
  if (named || text === undefined) return textOf(named);
  const account = parsedObject(text);
  if (account === undefined)
    throw optionError(vertexAi, 'vertex_service_account_json', 'must be the JSON of a service account');
  return textOf(account.project_id);
}
