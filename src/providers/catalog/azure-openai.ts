// Azure OpenAI ("REST API reference" and "API version lifecycle"): the resource is the
// host, the deployment part of the path, and the version a query; with the versions
// "v1" and "preview" paths are OpenAI's own and the body's model names the deployment.
import { invalidHeader } from '../../lib/errors.ts';
import type { Location, OperationName, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { headerOf } from '../option-headers.ts';

// An unchecked name could become another host ("evil.com/#") that gets the caller's key.
const RESOURCE = /^[a-zA-Z0-9][a-zA-Z0-9-]{0,62}$/;
const DEPLOYMENT = /^[A-Za-z0-9._-]{1,64}$/;
const VERSION = /^[0-9]{4}-[0-9]{2}-[0-9]{2}(-preview)?$/;
/** Operations that belong to no deployment. */
const RESOURCE_WIDE: ReadonlySet<OperationName> = new Set(['models', 'model']);

export const azureOpenai: ProviderEntry = {
  id: 'azure-openai',
  name: 'Azure OpenAI',
  dialect: 'openai',
  auth: 'api-key',
  streamUsage: 'stream_options',
  operations: ['chat', 'completions', 'embeddings', 'models', 'model'],
  options: ['azure_resource_name', 'azure_deployment_id', 'azure_api_version', 'azure_model_name'],
  locate,
};

function locate(options: ProviderOptions, operation: OperationName | undefined, hosted: boolean): Location {
  const base = hosted ? {} : { baseUrl: baseUrl(options) };
  if (operation === undefined) return base;
  const version = required(options, 'azure_api_version');
  if (version === 'v1') return { ...base, pathPrefix: '/v1' };
  if (version === 'preview') return { ...base, pathPrefix: '/v1', query: 'api-version=preview' };
  if (!VERSION.test(version)) {
    throw invalidHeader(headerOf('azure_api_version'), 'must be a date (2024-10-21), v1 or preview');
  }
  const query = `api-version=${version}`;
  return RESOURCE_WIDE.has(operation)
    ? { ...base, query }
    : { ...base, pathPrefix: `/deployments/${deployment(options)}`, query };
}

function baseUrl(options: ProviderOptions): string {
  const resource = required(options, 'azure_resource_name');
  const host = `${resource.toLowerCase()}.openai.azure.com`;
  const url = `https://${host}/openai`;
  if (!RESOURCE.test(resource) || new URL(url).host !== host) {
    throw invalidHeader(headerOf('azure_resource_name'), 'must be letters, digits and hyphens, at most 63');
  }
  return url;
}

function deployment(options: ProviderOptions): string {
  const id = required(options, 'azure_deployment_id');
  if (!DEPLOYMENT.test(id) || id === '.' || id === '..') {
    throw invalidHeader(
      headerOf('azure_deployment_id'),
      'must be letters, digits, dots, underscores and hyphens, at most 64',
    );
  }
  return id;
}

function required(options: ProviderOptions, name: string): string {
  const value = options[name];
  if (value === undefined || value === '')
    throw invalidHeader(headerOf(name), 'is required for azure-openai');
  return value;
}
