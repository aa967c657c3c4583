// The users of a guardrail, and whether it may be used.
import type { Directory } from '../../access/directory.ts';
import type { TenantScope } from '../../call/scope.ts';
import { type PathFault, parseSavedGuardrail, type SavedGuardrail } from '../../checks/guardrails.ts';
import type { ConfigCatalogue } from '../../configs/config-catalogue.ts';
import { type GuardrailBody, guardrails } from '../../configs/config-collections.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';

type Event = SavedGuardrail['event'];

/** The guardrail of that id or slug that a workspace may name; without a workspace, the organisation's own. */
export async function guardrailNamed(
  documents: DocumentStore,
  { organisationId, workspaceId }: TenantScope,
  idOrSlug: string,
): Promise<Document<GuardrailBody> | undefined> {
  const found = await documents.get({ organisationId, workspaceId: undefined }, guardrails, idOrSlug);
  return found?.workspaceId === undefined || found.workspaceId === workspaceId ? found : undefined;
}

/** Why a guardrail may not be named for requests (`input`) or answers (`output`); undefined when it may. */
export async function guardrailFault(
  documents: DocumentStore,
  scope: TenantScope,
  idOrSlug: string,
  event: Event,
): Promise<string | undefined> {
  const found = await guardrailNamed(documents, scope, idOrSlug);
  return found === undefined ? `there is no saved guardrail ${idOrSlug.slice(0, 64)}` : faultOf(found, event);
}

/**
 * Ids of the named guardrails, in their order.
 * @throws GatewayError validation_failed for those that are not there, or not for this side of a call.
 */
export async function guardrailIds(
  documents: DocumentStore,
  scope: TenantScope,
  names: readonly string[],
  event: Event,
  field: string,
): Promise<readonly string[]> {
  const ids: string[] = [];
  for (const [i, name] of names.entries()) {
    const found = await guardrailNamed(documents, scope, name);
    if (found === undefined) throw invalidField(`${field}[${i}]`, 'names no guardrail that may be used here');
    const fault = faultOf(found, event);
    if (fault !== undefined) throw invalidField(`${field}[${i}]`, fault);
    ids.push(found.id);
  }
  return ids;
}

function faultOf({ id, slug, body }: Document<GuardrailBody>, event: Event): string | undefined {
  const faults: PathFault[] = [];
  parseSavedGuardrail({ checks: body.checks, actions: body.actions }, id, event, '', faults);
  return faults[0] && `the guardrail ${slug ?? id} cannot be used here: ${faults[0].message}`;
}

/** @throws GatewayError conflict when something names it. */
export function refuseNamed(
  { directory, savedConfigs }: { readonly directory: Directory; readonly savedConfigs: ConfigCatalogue },
  { organisationId, workspaceId, id, slug = '' }: Document<GuardrailBody>,
): void {
  const names = [id, slug];
  const users: string[] = [];
  const organisation = directory.organisation(organisationId);
  if (isDefault(organisation?.body.defaults, names)) users.push('the organisation');
  const places = workspaceId === undefined ? directory.workspaceIds(organisationId) : [workspaceId];
  for (const place of places) {
    const workspace = directory.workspace(organisationId, place);
    if (isDefault(workspace?.body.defaults, names)) users.push(`workspace ${workspace?.body.name}`);
  }
  const configs = savedConfigs.referring({ organisationId, workspaceId }, 'guardrail', names);
  users.push(...configs.map(({ id: config, name }) => `config ${name} (${config})`));
  if (users.length === 0) return;
  const more = users.length > 3 ? ` and ${users.length - 3} more` : '';
  throw fail('conflict', `the guardrail is in use by ${users.slice(0, 3).join(', ')}${more}`);
}

function isDefault(defaults: JsonObject | undefined, names: readonly string[]): boolean {
  return ['input_guardrails', 'output_guardrails'].some((member) => {
    const list = defaults?.[member];
    return Array.isArray(list) && list.some((item) => names.includes(String(item)));
  });
}
