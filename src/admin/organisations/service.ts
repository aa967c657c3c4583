// The caller's own organisation: read and changed.
import { create } from '@bufbuild/protobuf';
import {
  type GetOrganisationDefaultsRequest,
  type GetOrganisationRequest,
  type Organisation,
  type OrganisationDefaults,
  OrganisationDefaultsSchema,
  OrganisationSchema,
  OrganisationSettingsSchema,
  type UpdateOrganisationDefaultsRequest,
  type UpdateOrganisationRequest,
  type UpdateOrganisationResponse,
  UpdateOrganisationResponseSchema,
} from '../../../gen/gateway/admin/v2/organisations_pb.ts';
import type { Directory } from '../../access/directory.ts';
import { type OrganisationBody, organisations } from '../../access/identity-collections.ts';
import { SECURITY_CATEGORIES, type SecurityCategory } from '../../access/security-settings.ts';
import type { Call } from '../../call/call.ts';
import { guardrails } from '../../configs/config-collections.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, DocumentStore } from '../../store/documents.ts';
import { guardrailIds } from '../guardrails/usage.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { withConflictRetries } from '../kit/conflict-retries.ts';
import type { IdentityDeps } from '../kit/deps.ts';
import { defined, patch } from '../kit/patch.ts';
import { resource, shownAs } from '../kit/resource.ts';
import { timeText } from '../kit/time.ts';
import { type CheckHost, keptWebhook, shownWebhook } from './alert-webhook.ts';
import { namedSettings } from './security-settings.ts';

/** The methods of OrganisationsService. */
export function organisationsService(deps: IdentityDeps & { readonly checkHost: CheckHost }) {
  const { documents, directory, checkHost } = deps;
  const stored = resource(deps, {
    collection: organisations,
    noun: 'organisation',
    shown: shownAs(OrganisationSchema, (document) => organisationRecord(directory, document)),
  });
  const own = async (call: Call): Promise<Document<OrganisationBody>> => {
    const scope = organisationOf(callerOf(call));
    const found = await documents.get(scope, organisations, scope.organisationId);
    if (found === undefined) throw fail('not_found', 'the organisation does not exist any more');
    return found;
  };

  return withConflictRetries({
    async getOrganisation(_: GetOrganisationRequest, call: Call): Promise<Organisation> {
      return organisationRecord(directory, await own(call));
    },

    async updateOrganisation(
      request: UpdateOrganisationRequest,
      call: Call,
    ): Promise<UpdateOrganisationResponse> {
      const before = await own(call);
      const body = changedBody(before.body, request, checkHost);
      await stored.update(call, before, stored.changed(before, body));
      return create(UpdateOrganisationResponseSchema);
    },

    async getOrganisationDefaults(
      _: GetOrganisationDefaultsRequest,
      call: Call,
    ): Promise<OrganisationDefaults> {
      return defaultsOf(documents, await own(call));
    },

    async updateOrganisationDefaults(
      request: UpdateOrganisationDefaultsRequest,
      call: Call,
    ): Promise<OrganisationDefaults> {
      const before = await own(call);
      const scope = organisationOf(callerOf(call));
      const fields = patch(request.clear, ['metadata', 'input_guardrails', 'output_guardrails']);
      const listOf = async (name: 'input_guardrails' | 'output_guardrails', given: readonly string[]) =>
        fields.list(
          name,
          await guardrailIds(documents, scope, given, name === 'input_guardrails' ? 'input' : 'output', name),
          before.body.defaults?.[name] as readonly string[] | undefined,
        );
      const metadata = Object.keys(request.metadata).length > 0 ? request.metadata : undefined;
      const defaults = defined<JsonObject>({
        ...before.body.defaults,
        metadata: fields.optional('metadata', metadata, before.body.defaults?.metadata as JsonObject),
        input_guardrails: await listOf('input_guardrails', request.inputGuardrails),
        output_guardrails: await listOf('output_guardrails', request.outputGuardrails),
      });
      const { defaults: _gone, ...rest } = before.body;
      const body: OrganisationBody = Object.keys(defaults).length === 0 ? rest : { ...rest, defaults };
      const after = stored.changed(before, body);
      const shown = ({ body }: Document<OrganisationBody>) => ({ defaults: body.defaults ?? null });
      await stored.update(call, before, after, { before: shown(before), after: shown(after) });
      return defaultsOf(documents, after);
    },
  });
}

/** What callers are shown of an organisation. */
export function organisationRecord(
  directory: Directory,
  { id, createdAt, updatedAt, body }: Document<OrganisationBody>,
): Organisation {
  return create(OrganisationSchema, {
    id,
    handle: body.handle,
    name: body.name,
    object: 'organisation',
    createdAt: timeText(createdAt),
    lastUpdatedAt: timeText(updatedAt),
    ...(body.settings
      ? { settings: codec.decode(OrganisationSettingsSchema, shownWebhook(body.settings)) }
      : {}),
    securitySettings: directory.organisationSettings(body.securitySettings),
    workspaceOverrides: [...(body.openToWorkspaces ?? SECURITY_CATEGORIES)],
  });
}

function changedBody(
  before: OrganisationBody,
  request: UpdateOrganisationRequest,
  checkHost: CheckHost,
): OrganisationBody {
  const fields = patch(request.clear, ['settings', 'security_settings', 'workspace_overrides']);
  const given =
    request.settings && (codec.encode(OrganisationSettingsSchema, request.settings) as JsonObject);
  const settings = given && keptWebhook({ ...before.settings, ...given }, before.settings, checkHost);
  const security = namedSettings(request.securitySettings);
  return defined<OrganisationBody>({
    handle: before.handle,
    name: fields.always('name', request.name, before.name),
    settings: fields.optional('settings', settings, before.settings),
    defaults: before.defaults,
    securitySettings: fields.cleared('security_settings')
      ? undefined
      : { ...before.securitySettings, ...security },
    openToWorkspaces: fields.optional(
      'workspace_overrides',
      request.workspaceOverrides && categories(request.workspaceOverrides.value.value?.values ?? []),
      before.openToWorkspaces,
    ),
  });
}

function categories(given: readonly string[]): readonly SecurityCategory[] {
  return given.map((name, i) => {
    const category = SECURITY_CATEGORIES.find((known) => known === name);
    if (category === undefined)
      throw invalidField(`workspace_overrides[${i}]`, `must be one of ${SECURITY_CATEGORIES.join(', ')}`);
    return category;
  });
}

async function defaultsOf(
  documents: DocumentStore,
  { organisationId, body }: Document<OrganisationBody>,
): Promise<OrganisationDefaults> {
  const { metadata = {}, input_guardrails: input = [], output_guardrails: output = [] } = body.defaults ?? {};
  const [inputIds, outputIds] = [input as readonly string[], output as readonly string[]];
  const ids = [...inputIds, ...outputIds];
  const scope = { organisationId, workspaceId: undefined };
  const page =
    ids.length === 0
      ? { documents: [] }
      : await documents.page(scope, guardrails, {
          filter: [{ field: 'id', op: 'in', value: ids }],
          pageSize: ids.length,
        });
  const slugs = new Map(page.documents.map(({ id, slug = '' }) => [id, slug]));
  const named = (id: string) => ({ id, slug: slugs.get(id) ?? '' });
  return create(OrganisationDefaultsSchema, {
    metadata: metadata as Record<string, string>,
    inputGuardrails: inputIds.map(named),
    outputGuardrails: outputIds.map(named),
  });
}
