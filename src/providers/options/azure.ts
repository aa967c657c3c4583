// Options of Azure's services.
import { type OptionSpec, text, texts } from './spec.ts';

const group = 'azure';
const ofEntra = { when: { option: 'azure_auth_mode', is: ['entra'] } };
const MODES = ['default', 'entra', 'managed', 'workload', 'entraFederated'];

/** The kind of credential: a key (`default`), an Entra application, a managed or a workload identity. */
export const AZURE_IDENTITY: readonly OptionSpec[] = [
  text('azure_auth_mode', {
    group,
    effect: 'account',
    required: { stored: true },
    oneOf: MODES,
    keylessWith: MODES.slice(1),
    virtualKey: { preset: 'default' },
  }),
  ...texts('azure_entra_tenant_id azure_entra_client_id', { group, effect: 'account', required: ofEntra }),
  text('azure_entra_client_secret', { group, effect: 'account', required: ofEntra, secret: true }),
  ...texts('azure_managed_client_id azure_workload_client_id', { group, effect: 'account' }),
  text('azure_workload_tenant_id', { group, effect: 'account', from: ['stored'] }),
];

/** A token that the caller has already, and the scope to ask one for. */
export const AZURE_TOKEN: readonly OptionSpec[] = [
  text('azure_ad_token', { group, effect: 'account', secret: true }),
  text('azure_entra_scope', { group, effect: 'account' }),
];

/** Azure AI Foundry. */
export const AZURE_AI: readonly OptionSpec[] = [
  { name: 'azure_foundry_url', type: 'host', effect: 'address', group, required: {} },
  text('azure_deployment_name', { group, effect: 'model', sends: { header: 'azureml-model-deployment' } }),
  text('azure_extra_parameters', {
    group,
    headers: ['azure-extra-parameters', 'azure-extra-params'],
    sends: { header: 'extra-parameters', default: 'drop' },
  }),
  ...texts('azure_endpoint_name azure_region', { group, effect: 'address' }),
  text('azure_deployment_type', { group, effect: 'account' }),
];

/** Whether a Foundry address is that of Anthropic's API ("Claude in Microsoft Foundry"). */
export function isAnthropicFoundry(url: string | undefined): boolean {
  return url !== undefined && /anthropic/i.test(url);
}
