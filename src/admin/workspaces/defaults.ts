// The defaults of a workspace's calls must exist.
import type { WorkspaceDefaults } from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { TenantScope } from '../../call/scope.ts';
import { configs } from '../../configs/config-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import type { DocumentStore } from '../../store/documents.ts';
import { guardrailIds } from '../guardrails/usage.ts';

/** @throws GatewayError validation_failed naming what the workspace lacks. */
export async function checkDefaults(
  documents: DocumentStore,
  scope: TenantScope,
  defaults: WorkspaceDefaults | undefined,
): Promise<void> {
  if (defaults === undefined) return;
  const { inputGuardrails, outputGuardrails, userApiKeyConfig } = defaults;
  await guardrailIds(documents, scope, inputGuardrails, 'input', 'defaults.input_guardrails');
  await guardrailIds(documents, scope, outputGuardrails, 'output', 'defaults.output_guardrails');
  if (userApiKeyConfig === undefined) return;
  if ((await documents.get(scope, configs, userApiKeyConfig)) === undefined)
    throw invalidField('defaults.user_api_key_config', 'names no config of the workspace');
}
