// Integrations and stored providers in declared state.
import { IntegrationsService } from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import { ProvidersService } from '../../../gen/gateway/admin/v2/providers_pb.ts';
import {
  type IntegrationBody,
  integrations,
  type ModelEntry,
  type ProviderBody,
  storedProviders,
} from '../../access/providers/provider-collections.ts';
import { providerById } from '../../providers/catalog/registry.ts';
import { optionsOf } from '../../providers/options/index-of.ts';
import { secretReferences } from '../../secrets/secret-collections.ts';
import type { Json, JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { timeText } from '../kit/time.ts';
import { limitsOf, saying, slugOfWorkspace, textsOf } from './exported.ts';
import type { DeclaredRecord, Kind, KindDeps } from './kind.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const OWN = ['workspaces', 'models', 'allow_all_models', 'global_workspace_access'];

/** An option that the provider's literal calls secret, or the key. */
function isSecret(path: string, { ai_provider_id: id }: JsonObject): boolean {
  if (path === 'key' || path === 'network.client_key' || path === 'network.proxy_url') return true;
  const [group, option = ''] = path.split('.');
  const entry = group === 'configurations' ? providerById(String(id)) : undefined;
  const spec = entry && optionsOf(entry).stored.get(option);
  return spec?.secret === true && spec.type === 'text';
}

function createMembers(members: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(members).filter(([name]) => !OWN.includes(name)));
}

/** Which workspaces use it, as the file says: all others do not. */
async function share(
  { members, slug }: DeclaredRecord,
  { id }: Document<object>,
  before: JsonObject | undefined,
  { run, records, directory, organisationId }: KindDeps,
): Promise<void> {
  const { workspaces, global_workspace_access: everywhere, models, allow_all_models: allowAll } = members;
  if (workspaces !== undefined || everywhere !== undefined || before?.workspaces !== undefined) {
    const list = Array.isArray(workspaces) ? (workspaces as readonly Json[]) : [];
    const own = records.filter(
      ({ kind, members: given }) =>
        kind.list === 'providers' && slug !== undefined && given.integration === slug,
    );
    const hasOwn = (workspace: string): boolean =>
      own.some(({ members: given }) => {
        const named = directory.workspace(organisationId, String(given.workspace ?? 'default'));
        return named !== undefined && named.id === directory.workspace(organisationId, workspace)?.id;
      });
    await run(IntegrationsService.method.updateIntegrationWorkspaces, {
      slug: id,
      workspaces: list.map((item): JsonObject => {
        const given: JsonObject = typeof item === 'string' ? { id: item } : (item as JsonObject);
        const makes: JsonObject = hasOwn(String(given.id ?? '')) ? { create_default_provider: false } : {};
        return { enabled: true, ...makes, ...given };
      }),
      ...(everywhere === undefined ? {} : { global_workspace_access: everywhere }),
      override_existing_workspace_access: workspaces !== undefined || before?.workspaces !== undefined,
      ...(members.create_default_provider === undefined
        ? {}
        : { create_default_provider: members.create_default_provider }),
      ...(members.default_provider_slug === undefined
        ? {}
        : { default_provider_slug: members.default_provider_slug }),
    });
  }
  if (models !== undefined || allowAll !== undefined)
    await run(IntegrationsService.method.updateIntegrationModels, {
      slug: id,
      models: models ?? [],
      ...(allowAll === undefined ? {} : { allow_all_models: allowAll }),
    });
  const gone = slugsOf(before?.models).filter((one) => !slugsOf(models).includes(one));
  if (gone.length > 0)
    await run(IntegrationsService.method.deleteIntegrationModels, { slug: id, slugs: gone.join(',') });
}

function slugsOf(models: Json | undefined): string[] {
  if (!Array.isArray(models)) return [];
  return (models as readonly Json[]).map((model) => String((model as JsonObject | null)?.slug ?? ''));
}

export const integrationKind: Kind = {
  list: 'integrations',
  collection: integrations,
  create: IntegrationsService.method.createIntegration,
  update: IntegrationsService.method.updateIntegration,
  remove: IntegrationsService.method.deleteIntegration,
  id: 'slug',
  place: 'either',
  slugs: true,
  own: OWN,
  onlyNew: ['create_default_provider', 'default_provider_slug'],
  absent: { allow_config_override: false },
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as IntegrationBody).name,
  isSecret,
  prepare: createMembers,
  more: share,
  async exported(document, { directory, documents, organisationId }) {
    const body = document.body as IntegrationBody;
    const scope = { organisationId, workspaceId: undefined };
    const references: Record<string, JsonObject> = {};
    for (const { targetField, secretReferenceId } of body.secretMappings ?? []) {
      const found = await documents.get(scope, secretReferences, secretReferenceId);
      references[targetField] = { reference: found?.slug ?? secretReferenceId };
    }
    const fromReference = Object.entries(references).filter(([field]) => field !== 'key');
    const options = fromReference.map(([field, named]) => [field.replace(/^configurations\./, ''), named]);
    const shared = Object.entries(body.workspaces ?? {}).flatMap(([id, access]): Json[] => {
      const slug = directory.workspace(organisationId, id)?.slug;
      if (slug === undefined || !access.enabled) return [];
      const limits = saying({
        usage_limits: limitsOf(access.usageLimits as never),
        rate_limits: access.rateLimits as never,
      });
      return [Object.keys(limits).length === 0 ? slug : { id: slug, ...limits }];
    });
    return saying({
      slug: document.slug,
      ...textsOf(this, document),
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      key: references.key,
      configurations: { ...body.configurations, ...Object.fromEntries(options) } as JsonObject,
      pricing_adjustments: body.pricingAdjustments,
      tags: body.tags as JsonObject | undefined,
      allow_config_override: body.allowConfigOverride,
      workspaces: shared.sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1)),
      global_workspace_access: body.globalAccess && {
        ...saying({ ...(body.globalAccess as unknown as JsonObject), enabled: undefined }),
        enabled: body.globalAccess.enabled,
      },
      models: (body.models ?? []).map(modelOf),
      allow_all_models: body.allowAllModels ? undefined : false,
    });
  },
};

function modelOf({
  slug,
  enabled,
  isCustom,
  isFinetune,
  baseModelSlug,
  customHost,
  pricingConfig,
}: ModelEntry) {
  return {
    slug,
    enabled,
    ...saying({
      is_custom: isCustom,
      is_finetune: isFinetune,
      base_model_slug: baseModelSlug,
      configurations: customHost === undefined ? undefined : { custom_host: customHost },
      pricing_config: pricingConfig,
    }),
  };
}

export const providerKind: Kind = {
  list: 'providers',
  collection: storedProviders,
  create: ProvidersService.method.createProvider,
  update: ProvidersService.method.updateProvider,
  remove: ProvidersService.method.deleteProvider,
  id: 'slug',
  place: 'workspace',
  slugs: true,
  nameOf: ({ name }) => text(name),
  storedName: (document) => (document.body as ProviderBody).name,
  async exported(document, { directory, documents, organisationId }) {
    const body = document.body as ProviderBody;
    if (body.integrationId === undefined) return undefined;
    const scope = { organisationId, workspaceId: undefined };
    const integration = await documents.get(scope, integrations, body.integrationId);
    return saying({
      slug: document.slug,
      ...textsOf(this, document),
      integration_id: undefined,
      integration: integration?.slug,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      usage_limits: limitsOf(body.usageLimits),
      rate_limits: body.rateLimits as never,
      expires_at: body.expiresAt === undefined ? undefined : timeText(body.expiresAt),
      tags: body.tags as JsonObject | undefined,
    });
  },
};
