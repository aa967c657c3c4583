// Workspaces and API keys in declared state.
import { ApiKeysService } from '../../../gen/gateway/admin/v2/api_keys_pb.ts';
import { WorkspacesService } from '../../../gen/gateway/admin/v2/workspaces_pb.ts';
import {
  type ApiKeyBody,
  apiKeys,
  type WorkspaceBody,
  workspaces,
} from '../../access/identity-collections.ts';
import type { JsonObject } from '../../store/collection.ts';
import type { Document } from '../../store/documents.ts';
import { timeText } from '../kit/time.ts';
import { limitsOf, saying, slugOfWorkspace, textsOf } from './exported.ts';
import type { Kind } from './kind.ts';

const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined);
const bodyOf = <B extends object>(document: Document<object>): B => document.body as B;

export const workspaceKind: Kind = {
  list: 'workspaces',
  collection: workspaces,
  create: WorkspacesService.method.createWorkspace,
  update: WorkspacesService.method.updateWorkspace,
  remove: WorkspacesService.method.deleteWorkspace,
  id: 'workspace_id',
  place: 'organisation',
  slugs: true,
  onlyNew: ['users'],
  late: ['defaults'],
  nameOf: ({ name }) => text(name),
  storedName: (document) => bodyOf<WorkspaceBody>(document).name,
  stays: (document) => bodyOf<WorkspaceBody>(document).isDefault === true,
  removal: (document) => ({ name: bodyOf<WorkspaceBody>(document).name }),
  async exported(document) {
    const body = bodyOf<WorkspaceBody>(document);
    return saying({
      slug: document.slug,
      ...textsOf(this, document),
      usage_limits: limitsOf(body.usageLimits as never),
      rate_limits: body.rateLimits as never,
      security_settings: body.securitySettings as JsonObject | undefined,
      settings: body.settings,
      defaults: body.defaults,
    });
  },
};

/** `workspace-service`, as records say it, stands for type and sub_type. */
function kindParts(members: JsonObject): JsonObject {
  const { key: _, type = 'workspace', sub_type: sub = 'service', ...rest } = members;
  const [kind, second] = typeof type === 'string' ? type.split('-') : [type, undefined];
  return { ...rest, type: kind ?? type, sub_type: second ?? sub };
}

export const keyKind: Kind = {
  list: 'keys',
  collection: apiKeys,
  create: ApiKeysService.method.createApiKey,
  update: ApiKeysService.method.updateApiKey,
  remove: ApiKeysService.method.deleteApiKey,
  id: 'id',
  place: 'either',
  slugs: false,
  own: ['key'],
  nameOf: ({ name }) => text(name),
  storedName: (document) => bodyOf<ApiKeyBody>(document).name,
  isSecret: (path) => path === 'key',
  prepare: kindParts,
  async exported(document, { directory, organisationId }) {
    const body = bodyOf<ApiKeyBody>(document);
    if (body.bootstrap !== undefined || body.kind === 'workspace-user' || body.creationMode === 'auto')
      return undefined;
    const { rotation } = body;
    return saying({
      ...textsOf(this, document),
      type: body.kind === 'organisation-service' ? 'organisation' : undefined,
      workspace: slugOfWorkspace(directory, organisationId, document.workspaceId),
      scopes: body.scopes as never,
      rate_limits: body.rateLimits as never,
      usage_limits: limitsOf(body.usageLimits),
      defaults: body.defaults,
      alert_emails: body.alertEmails as never,
      expires_at: body.expiresAt === undefined ? undefined : timeText(body.expiresAt),
      rotation_policy:
        rotation &&
        saying({
          rotation_period: rotation.period,
          rotation_period_days: rotation.periodDays,
          key_transition_period_ms: rotation.transitionMs,
        }),
    });
  },
};
