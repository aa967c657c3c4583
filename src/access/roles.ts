// What a person's role lets them do with the scopes of their key (admin-api facts, parts 3.5 and 3.6).

import type { Principal } from '../call/principal.ts';
import { fail } from '../lib/errors.ts';
import type { Directory } from './directory.ts';
import type { WorkspaceRole } from './identity-collections.ts';
import type { SecuritySetting } from './security-settings.ts';

/** What decides: `true` for everybody, a setting's name, or `false`. */
type Rule = true | false | SecuritySetting;

interface Rules {
  readonly manager: { readonly view: Rule; readonly write: Rule };
  readonly member: { readonly view: Rule; readonly write: Rule };
}

/** Both settings of a pair, for managers and members alike. */
function settings(view: string, write: string): Rules {
  return {
    manager: { view: `managers${view}` as SecuritySetting, write: `managers${write}` as SecuritySetting },
    member: { view: `members${view}` as SecuritySetting, write: `members${write}` as SecuritySetting },
  };
}

function managers(write: Rule): Rules {
  return { manager: { view: true, write }, member: { view: true, write: false } };
}

const EVERYBODY: Rules = { manager: { view: true, write: true }, member: { view: true, write: true } };
const VIRTUAL_KEYS = settings('ViewVirtualKeys', 'WriteVirtualKeys');

/** By the scope's resource. What is not here belongs to the organisation: no role of a workspace suffices. */
const RULES: Readonly<Record<string, Rules>> = {
  analytics: settings('ViewAnalytics', 'ViewAnalytics'),
  completions: EVERYBODY,
  models: EVERYBODY,
  mcp: EVERYBODY,
  configs: settings('ViewConfigs', 'WriteConfigs'),
  guardrails: settings('ViewGuardrails', 'WriteGuardrails'),
  prompts: settings('ViewPrompts', 'WritePrompts'),
  providers: VIRTUAL_KEYS,
  virtual_keys: VIRTUAL_KEYS,
  // What is shown of them and exported: `logsAllow`.
  logs: EVERYBODY,
  mcp_servers: managers('managersWriteMcpServers'),
  policies: managers(true),
  workspace_integrations: managers('managersWriteWsIntegrations'),
  workspace_mcp_integrations: managers('managersWriteWsMcpIntegrations'),
  workspace_service_api_keys: {
    manager: { view: 'managersViewApiKeys', write: 'managersWriteApiKeys' },
    member: { view: 'membersViewApiKeys', write: false },
  },
  // A member's own keys only: the keys' service enforces that.
  workspace_user_api_keys: settings('ViewApiKeys', 'WriteApiKeys'),
  workspace_users: managers('managersWriteWsUsers'),
  workspaces: managers('managersUpdateWs'),
  organisation_integrations: { manager: { view: true, write: false }, member: { view: true, write: false } },
  organisation_mcp_integrations: {
    manager: { view: true, write: false },
    member: { view: true, write: false },
  },
  agents: EVERYBODY,
  feedbacks: EVERYBODY,
  generations: EVERYBODY,
  agent_servers: managers(true),
  agent_server_skills: managers(true),
  agent_integration_skills: managers(true),
  agent_server_user_access: managers(true),
  workspace_agent_integrations: managers(true),
  organisation_agent_integrations: {
    manager: { view: true, write: false },
    member: { view: true, write: false },
  },
  organisations: { manager: { view: true, write: false }, member: { view: true, write: false } },
  provider: VIRTUAL_KEYS,
};

/** Calls that use things and change none. */
const USES: ReadonlySet<string> = new Set(['analytics.view', 'guardrails.invoke', 'prompts.render']);

/** Whose view of the request log settings narrow. */
type LogReader = 'members' | 'managers' | 'organisationAdmins';

/** What settings let people see of calls: the bodies, and everything else that is recorded. */
export function logSight(
  who: LogReader,
  setting: (name: SecuritySetting) => boolean,
): { readonly payloads: boolean; readonly metadata: boolean } {
  return { payloads: setting(`${who}ViewLogs`), metadata: setting(`${who}ViewLogMetadata`) };
}

function logsAllow(who: LogReader, action: string, setting: (name: SecuritySetting) => boolean): boolean {
  const { payloads, metadata } = logSight(who, setting);
  if (action === 'list') return metadata;
  if (action === 'export') return payloads;
  // One entry shows what may be seen.
  return action === 'write' || payloads || metadata;
}

/** Whether a role lets its holder use a scope in a workspace. */
export function roleAllows(
  role: WorkspaceRole,
  scope: string,
  setting: (name: SecuritySetting) => boolean,
): boolean {
  const [resource = '', action = ''] = scope.split('.');
  // References themselves are the organisation's.
  if (resource === 'secret_references') return action === 'use' && role !== 'member';
  if (role === 'admin') return RULES[resource] !== undefined;
  if (resource === 'logs') return logsAllow(`${role}s`, action, setting);
  const rules = RULES[resource]?.[role];
  if (rules === undefined) return false;
  const rule = action === 'list' || action === 'read' || USES.has(scope) ? rules.view : rules.write;
  return typeof rule === 'boolean' ? rule : setting(rule);
}

/**
 * The role of the person that a key or token belongs to, over the scopes that it holds: a user who was removed, or
 * has no place in the workspace any more, may do nothing.
 * @throws GatewayError forbidden.
 */
export function checkRole(directory: Directory, principal: Principal, scopes: readonly string[]): void {
  const { userId, organisationId, workspaceId } = principal;
  if (userId === undefined) return;
  const user = directory.user(organisationId, userId);
  if (user === undefined) throw fail('forbidden', 'the user of this key is not of the organisation any more');
  if (user.body.role === 'owner') return;
  const setting = (name: SecuritySetting): boolean => directory.setting(name, organisationId, workspaceId);
  const usable = scopes.filter((scope) => principal.scopes.has(scope));
  if (user.body.role === 'admin') {
    if (usable.length > 0 && !usable.some((scope) => adminAllows(scope, setting)))
      throw fail(
        'forbidden',
        `admins of the organisation may not use ${usable.join(' or ')} in this workspace`,
      );
    return;
  }
  const role = workspaceId === undefined ? undefined : directory.roleIn(organisationId, workspaceId, userId);
  if (role === undefined) throw fail('forbidden', 'the user of this key is not a member of the workspace');
  if (!usable.some((scope) => roleAllows(role, scope, setting)))
    throw fail('forbidden', `the role ${role} may not use ${usable.join(' or ')} in this workspace`);
}

/** Admins of an organisation may use everything, except for what they may not see of calls. */
function adminAllows(scope: string, setting: (name: SecuritySetting) => boolean): boolean {
  const [resource, action = ''] = scope.split('.');
  return resource !== 'logs' || logsAllow('organisationAdmins', action, setting);
}

/** Whether a key or token belongs to a person, of the directory or known to the issuer of the token alone. */
export function isPerson({ userId, token }: Principal): boolean {
  return userId !== undefined || token?.role !== undefined;
}

/**
 * The role in its workspace of the person that a key or token belongs to: as the directory has it, or as the token says
 * for people who are not in the directory. Undefined for services and for keys without an owner.
 */
export function roleOf(directory: Directory, principal: Principal): WorkspaceRole | undefined {
  const { organisationId, workspaceId, userId, token } = principal;
  if (userId === undefined) return token?.role;
  if (workspaceId === undefined && directory.user(organisationId, userId)?.body.role !== 'member')
    return 'admin';
  const place = workspaceId === undefined ? undefined : directory.roleIn(organisationId, workspaceId, userId);
  // A person without a place was refused before; everybody else is at least a member.
  return place ?? 'member';
}

/** The role whose settings decide what the caller may see of calls; undefined: it sees everything. */
export function logReaderOf(directory: Directory, principal: Principal): LogReader | undefined {
  const { organisationId, userId } = principal;
  if (userId !== undefined && directory.user(organisationId, userId)?.body.role === 'admin')
    return 'organisationAdmins';
  const role = roleOf(directory, principal);
  return role === 'member' || role === 'manager' ? `${role}s` : undefined;
}

/** Whether the caller decides for the organisation: its own keys, and its owners and admins. */
export function governs(directory: Directory, principal: Principal): boolean {
  const { kind, organisationId, userId } = principal;
  if (kind === 'organisation-service') return true;
  const user = userId === undefined ? undefined : directory.user(organisationId, userId);
  return user !== undefined && user.body.role !== 'member';
}

/** Higher roles first. */
const WORKSPACE_RANK: Readonly<Record<WorkspaceRole, number>> = { admin: 2, manager: 1, member: 0 };

/** Whether the first role is above the second. */
export function outranks(a: WorkspaceRole, b: WorkspaceRole): boolean {
  return WORKSPACE_RANK[a] > WORKSPACE_RANK[b];
}
