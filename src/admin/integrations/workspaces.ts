// Which workspaces may use an integration of the organisation.
import { create } from '@bufbuild/protobuf';
import {
  type IntegrationGlobalAccess,
  type IntegrationWorkspaceChange,
  type IntegrationWorkspaceList,
  IntegrationWorkspaceListSchema,
  IntegrationWorkspaceSchema,
  type UpdateIntegrationWorkspacesRequest,
} from '../../../gen/gateway/admin/v2/integrations_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type {
  GlobalAccess,
  IntegrationBody,
  WorkspaceAccess,
} from '../../access/providers/provider-collections.ts';
import type { ProviderReplica } from '../../access/providers/provider-replica.ts';
import { accessOf } from '../../access/providers/workspace-access.ts';
import type { Usage } from '../../ledger/limits/usage.ts';
import { fail, invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document, WriteOperation } from '../../store/documents.ts';
import { COMMON_UNITS, rateLimitOf, rateLimitsJson, usageLimitJson, usageLimitOf } from '../kit/limits.ts';
import { defined, patch } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import { defaultProvider, freeSlug } from './default-provider.ts';
import { globalAccessOf } from './record.ts';

/** New providers of one call: they, the integration and the audit log's entry are one commit. */
const MOST_PROVIDERS = 900;
/** Workspaces that an integration has settings for. */
const MOST_WORKSPACES = 5000;

/** The records for callers: archived workspaces are left out. @param usages of their budgets, by workspace */
export function workspaceList(
  directory: Directory,
  document: Document<IntegrationBody>,
  usages: ReadonlyMap<string, readonly (Usage | undefined)[]> = new Map(),
): IntegrationWorkspaceList {
  const { organisationId, workspaceId, createdAt, updatedAt, body } = document;
  const own: Readonly<Record<string, WorkspaceAccess>> =
    workspaceId === undefined
      ? (body.workspaces ?? {})
      : { [workspaceId]: { enabled: true, createdAt, updatedAt } };
  const workspaces = Object.entries(own).flatMap(([id, access]) => {
    const workspace = directory.workspace(organisationId, id);
    if (workspace === undefined) return [];
    const { usageLimits = [], rateLimits = [] } = access;
    const standing = usages.get(id) ?? [];
    const usageResetAt = standing[0] === undefined ? access.usageResetAt : standing[0].lastResetAt;
    return [
      create(IntegrationWorkspaceSchema, {
        id: workspace.slug ?? workspace.id,
        enabled: access.enabled,
        usageLimits: usageLimits.map((limit, i) => usageLimitOf(limit, standing[i])),
        rateLimits: rateLimits.map(rateLimitOf),
        status: standing.some((usage) => usage?.exhausted) ? 'exhausted' : 'active',
        createdAt: timeText(access.createdAt),
        lastUpdatedAt: timeText(access.updatedAt),
        ...(usageResetAt === undefined ? {} : { lastResetAt: timeText(usageResetAt) }),
      }),
    ];
  });
  return create(IntegrationWorkspaceListSchema, {
    total: BigInt(workspaces.length),
    workspaces,
    ...(body.globalAccess === undefined ? {} : { globalWorkspaceAccess: globalAccessOf(body.globalAccess) }),
    object: 'integration',
  });
}

/** The body with the access that the call gives, and the stored providers that come with it. */
export interface Shared {
  readonly body: IntegrationBody;
  readonly providers: readonly WriteOperation[];
}

interface SharingDeps {
  readonly directory: Directory;
  readonly replica: ProviderReplica;
}

/** @param at Unix milliseconds. @throws GatewayError validation_failed, conflict. */
export function shared(
  deps: SharingDeps,
  document: Document<IntegrationBody>,
  request: UpdateIntegrationWorkspacesRequest,
  at: number,
): Shared {
  const { body, organisationId } = document;
  if (body.level === 'workspace')
    throw invalidField('slug', 'names an integration of one workspace: those of the organisation are shared');
  const override =
    request.overrideExistingWorkspaceAccess ?? request.overrideExistingWorkspacesAccess ?? false;
  const entries = new Map(override ? [] : Object.entries(body.workspaces ?? {}));
  const named = new Map<string, IntegrationWorkspaceChange>();
  for (const [i, change] of request.workspaces.entries()) {
    const field = `workspaces[${i}]`;
    const workspace = deps.directory.workspace(organisationId, change.id);
    if (workspace === undefined) throw invalidField(`${field}.id`, 'names no workspace of the organisation');
    if (named.has(workspace.id)) throw invalidField(`${field}.id`, 'is named twice');
    named.set(workspace.id, change);
    entries.set(workspace.id, accessEntry(body.workspaces?.[workspace.id], change, field, at));
  }
  if (entries.size > MOST_WORKSPACES)
    throw invalidField('workspaces', `must be ${MOST_WORKSPACES} at the most: take global_workspace_access`);
  const global = request.globalWorkspaceAccess;
  const after = defined<IntegrationBody>({
    ...body,
    workspaces: entries.size > 0 ? Object.fromEntries(entries) : undefined,
    globalAccess: global === undefined ? body.globalAccess : globalJson(global, body.globalAccess, at),
  });
  return { body: after, providers: newProviders(deps, document, after, named, request, at) };
}

function accessEntry(
  before: WorkspaceAccess | undefined,
  change: IntegrationWorkspaceChange,
  field: string,
  at: number,
): WorkspaceAccess {
  const fields = patch(change.clear, ['usage_limits', 'rate_limits']);
  return defined<WorkspaceAccess>({
    enabled: change.enabled ?? false,
    usageLimits: fields.list(
      'usage_limits',
      usageJson(change.usageLimits, field, at, before?.usageLimits),
      before?.usageLimits,
    ),
    rateLimits: fields.list(
      'rate_limits',
      rateLimitsJson(change.rateLimits, `${field}.rate_limits`, COMMON_UNITS),
      before?.rateLimits,
    ),
    usageResetAt: change.resetUsage === true ? at : before?.usageResetAt,
    createdAt: before?.createdAt ?? at,
    updatedAt: at,
  });
}

function globalJson(
  given: IntegrationGlobalAccess,
  before: GlobalAccess | undefined,
  at: number,
): GlobalAccess {
  const field = 'global_workspace_access';
  const usage = usageJson(given.usageLimits, field, at, before?.usageLimits);
  const rates = rateLimitsJson(given.rateLimits, `${field}.rate_limits`, COMMON_UNITS);
  return defined<GlobalAccess>({
    enabled: given.enabled ?? false,
    usageLimits: usage.length > 0 ? usage : undefined,
    rateLimits: rates.length > 0 ? rates : undefined,
  });
}

function usageJson(
  limits: readonly Parameters<typeof usageLimitJson>[0][],
  field: string,
  at: number,
  before: readonly JsonObject[] = [],
): readonly JsonObject[] {
  return limits.map((limit, i) => usageLimitJson(limit, `${field}.usage_limits[${i}]`, at, before[i]));
}

/** For the workspaces that newly have access. */
function newProviders(
  { directory, replica }: SharingDeps,
  before: Document<IntegrationBody>,
  body: IntegrationBody,
  named: ReadonlyMap<string, IntegrationWorkspaceChange>,
  request: UpdateIntegrationWorkspacesRequest,
  at: number,
): WriteOperation[] {
  const { id, organisationId, slug = '' } = before;
  const after = { ...before, body };
  const has = replica.workspacesWith(organisationId, id);
  const operations: WriteOperation[] = [];
  for (const workspaceId of directory.workspaceIds(organisationId)) {
    if (
      has.has(workspaceId) ||
      accessOf(before, workspaceId).enabled ||
      !accessOf(after, workspaceId).enabled
    )
      continue;
    const change = named.get(workspaceId);
    if (!(change?.createDefaultProvider ?? request.createDefaultProvider ?? true)) continue;
    const asked = change?.defaultProviderSlug ?? request.defaultProviderSlug;
    const isTaken = (one: string): boolean => replica.hasSlug(organisationId, workspaceId, one);
    if (asked !== undefined && isTaken(asked))
      throw fail('conflict', `default_provider_slug: ${asked} is taken in the workspace ${workspaceId}`, {
        param: 'default_provider_slug',
      });
    operations.push(defaultProvider(after, workspaceId, asked ?? freeSlug(slug, isTaken), at));
    if (operations.length > MOST_PROVIDERS)
      throw invalidField(
        'create_default_provider',
        `must be false: more than ${MOST_PROVIDERS} workspaces would get a stored provider at once`,
      );
  }
  return operations;
}
