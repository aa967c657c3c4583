// A workspace's body, made of what callers ask for.
import {
  type CreateWorkspaceRequest,
  type UpdateWorkspaceRequest,
  type WorkspaceDefaults,
  WorkspaceDefaultsSchema,
  type WorkspaceSettings,
  WorkspaceSettingsSchema,
} from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import type { Directory } from '../../access/directory.ts';
import type { WorkspaceBody } from '../../access/identity-collections.ts';
import { invalidField } from '../../lib/errors.ts';
import { codec } from '../../rest/codec.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { COMMON_UNITS, rateLimitsJson, usageLimitJson } from '../kit/limits.ts';
import { defined, patch } from '../kit/patch.ts';
import { changedSettings } from '../organisations/security-settings.ts';

/** The body of a workspace to be. @throws GatewayError validation_failed. */
export function newBody(
  directory: Directory,
  organisationId: string,
  request: CreateWorkspaceRequest,
  at: number,
): WorkspaceBody {
  return defined<WorkspaceBody>({
    name: request.name,
    uniqueName: request.name,
    description: request.description,
    icon: request.icon || undefined,
    isDefault: undefined,
    defaults: defaultsJson(request.defaults),
    usageLimits: nonEmpty(
      request.usageLimits.map((limit, i) => usageLimitJson(limit, `usage_limits[${i}]`, at)),
    ),
    rateLimits: nonEmpty(rateLimitsJson(request.rateLimits, 'rate_limits', COMMON_UNITS)),
    securitySettings: changedSettings(directory, organisationId, undefined, request.securitySettings),
    settings: settingsJson(undefined, request.settings),
  });
}

const CLEARABLE = [
  'description',
  'icon',
  'defaults',
  'usage_limits',
  'rate_limits',
  'security_settings',
  'settings',
];

/** The body after an update. @throws GatewayError validation_failed. */
export function changedBody(
  directory: Directory,
  { organisationId, body }: Document<WorkspaceBody>,
  request: UpdateWorkspaceRequest,
  at: number,
): WorkspaceBody {
  const fields = patch(request.clear, CLEARABLE);
  return defined<WorkspaceBody>({
    name: fields.always('name', request.name, body.name),
    uniqueName: request.name ?? body.uniqueName,
    description: fields.optional('description', request.description, body.description),
    icon: request.icon === '' ? undefined : fields.optional('icon', request.icon, body.icon),
    isDefault: body.isDefault,
    defaults: fields.optional('defaults', defaultsJson(request.defaults), body.defaults),
    usageLimits: fields.list(
      'usage_limits',
      request.usageLimits.map((limit, i) =>
        usageLimitJson(limit, `usage_limits[${i}]`, at, body.usageLimits?.[i]),
      ),
      body.usageLimits,
    ),
    rateLimits: fields.list(
      'rate_limits',
      rateLimitsJson(request.rateLimits, 'rate_limits', COMMON_UNITS),
      body.rateLimits,
    ),
    securitySettings: fields.cleared('security_settings')
      ? undefined
      : changedSettings(directory, organisationId, body.securitySettings, request.securitySettings),
    settings: fields.cleared('settings') ? undefined : settingsJson(body.settings, request.settings),
  });
}

function defaultsJson(defaults: WorkspaceDefaults | undefined): JsonObject | undefined {
  return defaults && (codec.encode(WorkspaceDefaultsSchema, defaults) as JsonObject);
}

/** The settings that are given over those that are there. @throws GatewayError when they do not fit each other. */
function settingsJson(
  before: JsonObject | undefined,
  given: WorkspaceSettings | undefined,
): JsonObject | undefined {
  if (given === undefined) return before;
  const settings = { ...before, ...(codec.encode(WorkspaceSettingsSchema, given) as JsonObject) };
  const { user_api_key_ttl: ttl, user_api_key_max_ttl: max } = settings as Readonly<Record<string, number>>;
  if (ttl !== undefined && max !== undefined && max > 0 && (ttl === 0 || ttl > max))
    throw invalidField('settings.user_api_key_ttl', 'must be at most user_api_key_max_ttl, and not 0');
  return settings;
}

function nonEmpty<T>(list: readonly T[]): readonly T[] | undefined {
  return list.length > 0 ? list : undefined;
}
