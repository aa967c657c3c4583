// Every scope, and which kinds of keys may hold it (admin-api facts, part 3.3).
import type { KeyKind } from './principal.ts';

/** A: organisation-service, S: workspace-service, U: workspace-user. */
type Holders = 'A' | 'AS' | 'ASU' | 'SU';

const crud = ['create', 'read', 'update', 'delete', 'list'];

/** Resource, actions, who may hold them. */
const TABLE: readonly (readonly [string, readonly string[], Holders])[] = [
  ['analytics', ['view'], 'ASU'],
  ['audit_logs', ['list'], 'A'],
  ['completions', ['write'], 'SU'],
  ['models', ['list'], 'SU'],
  ['configs', crud, 'ASU'],
  ['deployments', crud, 'A'],
  ['guardrails', crud, 'ASU'],
  ['guardrails', ['invoke'], 'SU'],
  ['logs', ['export', 'list', 'view'], 'ASU'],
  ['logs', ['write'], 'SU'],
  ['mcp', ['invoke'], 'SU'],
  ['mcp_servers', crud, 'ASU'],
  ['organisation_guardrails', crud, 'A'],
  ['organisation_integrations', ['create', 'read', 'update', 'delete'], 'A'],
  ['organisation_integrations', ['list'], 'ASU'],
  ['organisation_mcp_integrations', ['create', 'read', 'update', 'delete'], 'A'],
  ['organisation_mcp_integrations', ['list'], 'ASU'],
  ['organisation_service_api_keys', [...crud, 'rotate'], 'A'],
  ['organisation_settings', ['read', 'update'], 'A'],
  ['organisation_users', crud, 'A'],
  ['policies', crud, 'ASU'],
  ['prompts', [...crud, 'publish'], 'ASU'],
  ['prompts', ['render'], 'SU'],
  ['providers', crud, 'ASU'],
  ['secret_references', crud, 'A'],
  // Ours: to have the value of a reference sent to a provider.
  ['secret_references', ['use'], 'ASU'],
  ['virtual_keys', [...crud, 'duplicate', 'copy'], 'ASU'],
  ['workspace_integrations', crud, 'ASU'],
  ['workspace_mcp_integrations', crud, 'ASU'],
  // People's keys too: the specification lets managers make keys, and a key is how a person calls.
  ['workspace_service_api_keys', [...crud, 'rotate'], 'ASU'],
  ['workspace_user_api_keys', [...crud, 'rotate'], 'ASU'],
  ['workspace_users', crud, 'ASU'],
  ['workspaces', ['create', 'delete'], 'A'],
  ['workspaces', ['read', 'update', 'list'], 'ASU'],
];

const LETTER: Readonly<Record<KeyKind, string>> = {
  'organisation-service': 'A',
  'workspace-service': 'S',
  'workspace-user': 'U',
};

/**
 * Scopes of what people do with a role, and services do not though they may hold them: the operations refuse
 * their kind.
 */
export const PEOPLE_SCOPES: ReadonlySet<string> = new Set([
  'workspaces.update',
  'workspace_users.create',
  'workspace_users.update',
  'workspace_users.delete',
]);

/** Scopes of model calls: what the first workspace key holds. */
export const INFERENCE_SCOPES: readonly string[] = [
  'completions.write',
  'models.list',
  'prompts.render',
  'guardrails.invoke',
  'mcp.invoke',
  'logs.write',
];

/** All scopes that a kind of key may hold. */
export function scopesOf(kind: KeyKind): readonly string[] {
  return TABLE.flatMap(([resource, actions, holders]) =>
    holders.includes(LETTER[kind]) ? actions.map((action) => `${resource}.${action}`) : [],
  );
}
