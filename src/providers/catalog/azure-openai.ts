// Azure OpenAI ("REST API reference" and "API version lifecycle"): the resource is the
// host, the deployment part of the path, and the version a query; with the versions
// "v1" and "preview" paths are OpenAI's own and the body's model names the deployment.
import type { Location, ProviderEntry, ProviderOptions } from '../dialect.ts';
import { ALL_FAMILIES } from '../families.ts';
import { KEEPS_RESPONSES } from '../keeps-responses.ts';
import type { OperationName } from '../operations.ts';
import { AZURE_IDENTITY, AZURE_TOKEN } from '../options/azure.ts';
import { storedOnly, text } from '../options/spec.ts';
import { AZURE_REALTIME } from '../realtime.ts';

const group = 'azure';
/** Operations of a deployment; the others are the resource's. */
/** Forms with audio and images. */
const FORMS: readonly OperationName[] = ['transcriptions', 'translations', 'imageEdits'];
const OF_DEPLOYMENT: readonly OperationName[] = [
  ...(['chat', 'completions', 'embeddings', 'images', 'speech'] as const),
  ...FORMS,
];
const OPERATIONS: readonly OperationName[] = [...OF_DEPLOYMENT, 'models', 'model'];
/** Of the resource. */
const NATIVE: readonly OperationName[] = [...KEEPS_RESPONSES, ...FORMS, ...ALL_FAMILIES];

export const azureOpenai: ProviderEntry = {
  id: 'azure-openai',
  name: 'Azure OpenAI',
  dialect: 'openai',
  carries: { bound: 'max_completion_tokens', tiers: true },
  baseUrl: 'https://{azure_resource_name}.openai.azure.com/openai',
  auth: 'azure',
  streamUsage: 'stream_options',
  fileIds: true,
  realtime: AZURE_REALTIME,
  operations: OPERATIONS,
  native: NATIVE,
  options: [
    ...storedOnly(AZURE_IDENTITY),
    ...storedOnly(AZURE_TOKEN),
    text('azure_resource_name', {
      group,
      effect: 'address',
      aliases: ['resource_name'],
      required: {},
      // An unchecked name could become another host ("evil.com/#") that gets the caller's key.
      pattern: [/^[a-zA-Z0-9][a-zA-Z0-9-]{0,62}$/, 'must be letters, digits and hyphens, at most 63'],
      virtualKey: { member: 'resource_name' },
    }),
    text('azure_api_version', {
      group,
      aliases: ['api_version'],
      required: { operations: [...OPERATIONS, ...NATIVE] },
      pattern: [
        /^(?:\d{4}-\d{2}-\d{2}(?:-preview)?|v1|preview)$/,
        'must be a date (2024-10-21), v1 or preview',
      ],
      virtualKey: { member: 'api_version' },
    }),
    text('azure_deployment_id', {
      group,
      effect: 'model',
      aliases: ['deployment_id'],
      insteadOfModel: { named: 'azure_model_name' },
      required: {
        operations: OF_DEPLOYMENT,
        unless: { option: 'azure_api_version', is: ['v1', 'preview'] },
      },
      pattern: [
        /^(?!\.{1,2}$)[A-Za-z0-9._-]{1,64}$/,
        'must be letters, digits, dots, underscores and hyphens, at most 64',
      ],
      virtualKey: { member: 'deployment_name' },
    }),
    text('azure_model_name', { group, effect: 'model' }),
    {
      name: 'azure_deployment_config',
      type: 'deployments',
      effect: 'model',
      from: ['stored'],
      required: { stored: true },
      deployment: { id: 'azure_deployment_id', version: 'azure_api_version', model: 'azure_model_name' },
      virtualKey: { member: 'deployment_config' },
    },
  ],
  locate,
  prices: ['azure'],
  genAiName: 'azure.ai.openai',
};

function locate(options: ProviderOptions, operation: OperationName | undefined): Location {
  const { azure_api_version: version, azure_deployment_id: deployment } = options;
  if (version === 'v1') return { pathPrefix: '/v1' };
  const query = `api-version=${version}`;
  if (version === 'preview') return { pathPrefix: '/v1', query };
  return operation !== undefined && OF_DEPLOYMENT.includes(operation)
    ? { pathPrefix: `/deployments/${deployment}`, query }
    : { query };
}
