// A virtual key's provider options: top-level members in snake or camel case, as the options of integrations.
import type {
  CreateVirtualKeyRequest,
  UpdateVirtualKeyRequest,
  VirtualKeyDeployment,
} from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { invalidField } from '../lib/errors.ts';
import type { Json, JsonObject } from '../store/collection.ts';
import { defined } from './patch.ts';

type Request = CreateVirtualKeyRequest | UpdateVirtualKeyRequest;

/** Members of a virtual key, by the option that they set. */
const MEMBERS: Readonly<Record<string, string>> = {
  custom_host: 'custom_host',
  azure_api_version: 'api_version',
  azure_resource_name: 'resource_name',
  azure_deployment_id: 'deployment_name',
  azure_deployment_config: 'deployment_config',
  aws_access_key_id: 'aws_access_key_id',
  aws_secret_access_key: 'aws_secret_access_key',
  aws_region: 'aws_region',
  vertex_project_id: 'vertex_project_id',
  vertex_region: 'vertex_region',
  vertex_skip_ptu_cost_attribution: 'vertex_skip_ptu_cost_attribution',
  workers_ai_account_id: 'workers_ai_account_id',
};

/** How the provider is told who calls, where an integration would have to say it. */
const DEFAULTS: Readonly<Record<string, JsonObject>> = {
  'azure-openai': { azure_auth_mode: 'default' },
  'azure-ai': { azure_auth_mode: 'default' },
  bedrock: { aws_auth_type: 'accessKey' },
  sagemaker: { aws_auth_type: 'accessKey' },
  'vertex-ai': { vertex_auth_type: 'basic' },
};

/** The member of an option, for refusals. */
export function memberOf(option: string): string {
  return (Object.hasOwn(MEMBERS, option) ? MEMBERS[option] : undefined) ?? option;
}

/** Both spellings of the members, for what an update may take away. */
export const OPTION_MEMBERS: readonly string[] = Object.values(MEMBERS).flatMap((name) => [
  name,
  camel(name),
]);

/** What a new one starts with. */
export function defaultOptions(providerId: string): JsonObject {
  return (Object.hasOwn(DEFAULTS, providerId) ? DEFAULTS[providerId] : undefined) ?? {};
}

/** The options that are given; null for those to be taken away. @throws GatewayError validation_failed. */
export function givenOptions(request: Request, cleared: readonly string[] = []): JsonObject {
  const deployments = [...request.deploymentConfig, ...request.deploymentConfigCamel];
  const version = request.apiVersion ?? request.apiVersionCamel;
  const deployment = request.deploymentName ?? request.deploymentNameCamel;
  const given = defined<Record<string, Json>>({
    custom_host: request.customHost,
    azure_api_version: version,
    azure_resource_name: request.resourceName ?? request.resourceNameCamel,
    azure_deployment_id: deployment,
    azure_deployment_config:
      deployments.length > 0
        ? deployments.map(deploymentJson)
        : deployment !== undefined && version !== undefined
          ? [onlyDeployment(deployment, version)]
          : undefined,
    aws_access_key_id: request.awsAccessKeyId ?? request.awsAccessKeyIdCamel,
    aws_secret_access_key: request.awsSecretAccessKey ?? request.awsSecretAccessKeyCamel,
    aws_region: request.awsRegion ?? request.awsRegionCamel,
    vertex_project_id: request.vertexProjectId ?? request.vertexProjectIdCamel,
    vertex_region: request.vertexRegion ?? request.vertexRegionCamel,
    vertex_skip_ptu_cost_attribution:
      request.vertexSkipPtuCostAttribution ?? request.vertexSkipPtuCostAttributionCamel,
    workers_ai_account_id: request.workersAiAccountId ?? request.workersAiAccountIdCamel,
  });
  const gone = Object.entries(MEMBERS).filter(
    ([, name]) => cleared.includes(name) || cleared.includes(camel(name)),
  );
  return { ...Object.fromEntries(gone.map(([option]) => [option, null])), ...given };
}

function onlyDeployment(name: string, version: string): JsonObject {
  return {
    azure_api_version: version,
    azure_deployment_name: name,
    azure_model_slug: name,
    is_default: true,
  };
}

function deploymentJson(one: VirtualKeyDeployment, i: number): JsonObject {
  const name = one.deploymentName ?? one.deploymentNameCamel;
  const version = one.apiVersion ?? one.apiVersionCamel;
  if (!name) throw invalidField(`deployment_config[${i}].deployment_name`, 'is required', 'required');
  if (!version) throw invalidField(`deployment_config[${i}].api_version`, 'is required', 'required');
  return defined<JsonObject>({
    azure_api_version: version,
    azure_deployment_name: name,
    azure_model_slug: one.modelSlug ?? one.alias ?? name,
    alias: one.alias,
    is_default: one.isDefault,
  });
}

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}
