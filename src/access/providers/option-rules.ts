// Which options a provider's integration has (admin-api facts, part 5.4), beside those that its catalogue entry
// reads. Rules are by provider identifier: a provider that is not in the table has its entry's options alone.

/** What an option's value must be. */
export interface OptionRule {
  readonly type: 'text' | 'flag' | 'object' | 'headers' | 'host' | 'deployments';
  readonly required?: true;
  readonly oneOf?: readonly string[];
  /** Of a text, in characters; 8192 when absent. */
  readonly maxLength?: number;
}

export type OptionRules = Readonly<Record<string, OptionRule>>;

const text: OptionRule = { type: 'text' };
const needed: OptionRule = { type: 'text', required: true };
const flag: OptionRule = { type: 'flag' };
const texts = (names: string): OptionRules =>
  Object.fromEntries(names.split(' ').map((name) => [name, text]));
const oneOf = (...words: string[]): OptionRule => ({ type: 'text', required: true, oneOf: words });

/** Options of every provider. */
const COMMON: OptionRules = {
  custom_host: { type: 'host' },
  custom_headers: { type: 'headers' },
  is_key_required: flag,
};

const AZURE: OptionRules = {
  azure_auth_mode: oneOf('default', 'entra', 'managed', 'workload', 'entraFederated'),
  ...texts(
    'azure_entra_tenant_id azure_entra_client_id azure_entra_client_secret azure_managed_client_id azure_workload_client_id azure_workload_tenant_id',
  ),
};

const AWS: OptionRules = {
  aws_auth_type: oneOf('accessKey', 'assumedRole', 'serviceRole', 'apiKey'),
  aws_region: needed,
  ...texts('aws_access_key_id aws_secret_access_key aws_role_arn aws_external_id'),
};

const TABLE: Readonly<Record<string, OptionRules>> = {
  anthropic: { anthropic_inspect_stream_for_overloaded_error: flag },
  'azure-openai': {
    ...AZURE,
    azure_resource_name: needed,
    azure_deployment_config: { type: 'deployments', required: true },
  },
  'azure-ai': {
    ...AZURE,
    azure_foundry_url: { type: 'host', required: true },
    azure_api_version: { type: 'text', maxLength: 30 },
    azure_deployment_name: text,
  },
  bedrock: AWS,
  sagemaker: {
    ...AWS,
    ...texts(
      'amzn_sagemaker_custom_attributes amzn_sagemaker_target_model amzn_sagemaker_target_variant amzn_sagemaker_target_container_hostname amzn_sagemaker_inference_id amzn_sagemaker_enable_explanations amzn_sagemaker_inference_component amzn_sagemaker_session_id amzn_sagemaker_model_name',
    ),
  },
  'vertex-ai': {
    vertex_auth_type: oneOf('basic', 'serviceAccount', 'workload'),
    vertex_region: needed,
    vertex_project_id: text,
    vertex_service_account_json: { type: 'object' },
    vertex_skip_ptu_cost_attribution: flag,
    vertex_map_metadata: flag,
  },
  'workers-ai': { workers_ai_account_id: needed },
  huggingface: { huggingface_base_url: { type: 'host' } },
  cortex: { snowflake_account: needed },
  byteplus: { byteplus_region: text },
};

/** The rules of a provider's options. @param known options that its catalogue entry reads */
export function optionRules(providerId: string, known: readonly string[] = []): OptionRules {
  return {
    ...COMMON,
    ...Object.fromEntries(known.map((name) => [name, text])),
    ...(Object.hasOwn(TABLE, providerId) ? TABLE[providerId] : {}),
  };
}

const ADDRESS = /(?:host|url|resource_name|region|account|account_id)$/;

/** Whether an option says where calls go. */
export function isAddressOption(name: string): boolean {
  return ADDRESS.test(name);
}

/** Options that say how a call is made, and are none of the provider's own. */
export const OWN_OPTIONS: ReadonlySet<string> = new Set([...Object.keys(COMMON), 'azure_deployment_config']);
