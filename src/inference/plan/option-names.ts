// Members of a config that belong to a provider (data-plane facts, 1.1): known by name, so that a typo is none of them.

/** Shorter names of the same. */
const SHORT: Readonly<Record<string, string>> = {
  resource_name: 'azure_resource_name',
  deployment_id: 'azure_deployment_id',
  api_version: 'azure_api_version',
};

const KNOWN = new Set(
  `azure_resource_name azure_deployment_id azure_api_version azure_ad_token azure_auth_mode
   azure_entra_client_id azure_entra_client_secret azure_entra_tenant_id azure_entra_scope
   azure_managed_client_id azure_workload_client_id azure_model_name
   azure_foundry_url azure_deployment_name azure_extra_parameters azure_endpoint_name azure_region
   azure_deployment_type
   aws_access_key_id aws_secret_access_key aws_session_token aws_region aws_auth_type aws_role_arn
   aws_external_id aws_s3_bucket aws_s3_object_key aws_bedrock_model aws_server_side_encryption
   aws_server_side_encryption_kms_key_id
   amzn_sagemaker_custom_attributes amzn_sagemaker_target_model amzn_sagemaker_target_variant
   amzn_sagemaker_target_container_hostname amzn_sagemaker_inference_id amzn_sagemaker_enable_explanations
   amzn_sagemaker_inference_component amzn_sagemaker_session_id amzn_sagemaker_model_name
   vertex_project_id vertex_region vertex_service_account_json vertex_storage_bucket_name vertex_model_name
   vertex_batch_endpoint vertex_auth_type vertex_skip_ptu_cost_attribution
   openai_organization openai_project openai_beta
   anthropic_version anthropic_beta anthropic_api_key
   workers_ai_account_id huggingface_base_url stability_client_id stability_client_user_id
   stability_client_version fireworks_account_id snowflake_account mistral_fim_completion
   oracle_api_version oracle_region oracle_compartment_id oracle_serving_mode oracle_tenancy oracle_user
   oracle_fingerprint oracle_private_key oracle_key_passphrase`.split(/\s+/),
);

/** The option that a member of a config names; undefined when it names none. */
export function optionNamed(name: string, ofProvider: readonly string[] | undefined): string | undefined {
  const option = Object.hasOwn(SHORT, name) ? SHORT[name] : name;
  return option !== undefined && (KNOWN.has(option) || ofProvider?.includes(option)) ? option : undefined;
}

/** Options that change neither where a call goes nor on whose account: those that may stand beside a stored provider. */
const HARMLESS = new Set([
  'azure_deployment_id',
  'azure_api_version',
  'azure_model_name',
  'azure_deployment_name',
  'azure_extra_parameters',
  'aws_bedrock_model',
  'vertex_model_name',
  'openai_beta',
  'anthropic_version',
  'anthropic_beta',
  'mistral_fim_completion',
]);

/** Whether a config may say it of a provider that the control plane keeps. */
export function isHarmless(option: string): boolean {
  return HARMLESS.has(option);
}

/** An option's value as text; undefined when it can be none. Objects are for those that hold JSON. */
export function optionText(name: string, value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return name.endsWith('_json') && typeof value === 'object' && value !== null
    ? JSON.stringify(value)
    : undefined;
}
