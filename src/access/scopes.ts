// Every scope, and which kinds of keys may hold it (admin-api facts, part 3.3).
import type { KeyKind } from '../call/principal.ts';

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

/** Known and kept as well; nothing asks for them yet. The last ones stand in notes and answers only (part 3.3, its end). */
const UNUSED: typeof TABLE = [
  ['agent_servers', crud, 'ASU'],
  ['agents', ['invoke'], 'SU'],
  ['organisation_agent_integrations', ['create', 'read', 'update', 'delete'], 'A'],
  ['organisation_agent_integrations', ['list'], 'ASU'],
  ['organisation_exclusions', ['list', 'update'], 'A'],
  ['plugins', ['create', 'update', 'list'], 'A'],
  ['workspace_agent_integrations', crud, 'ASU'],
  ['agent_server_skills', crud, 'ASU'],
  ['agent_integration_skills', crud, 'ASU'],
  ['agent_server_user_access', crud, 'ASU'],
  ['completions', ['read'], 'SU'],
  ['logs', ['read'], 'ASU'],
  ['feedbacks', ['read', 'write'], 'SU'],
  ['generations', ['create'], 'SU'],
  ['organisations', ['read'], 'ASU'],
  ['provider', ['update'], 'ASU'],
  ['providers', ['duplicate'], 'ASU'],
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
  return [...TABLE, ...UNUSED].flatMap(([resource, actions, holders]) =>
    holders.includes(LETTER[kind]) ? actions.map((action) => `${resource}.${action}`) : [],
  );
}

/** Scopes that came after the first keys were made. */
const LATER: ReadonlySet<string> = new Set([
  'secret_references.use',
  ...UNUSED.flatMap(([resource, actions]) => actions.map((action) => `${resource}.${action}`)),
]);
const ALL = scopesOf('organisation-service');
const FIRST = ALL.filter((scope) => !LATER.has(scope));

/**
 * The scopes of a key, from the stored ones. An organisation's key that holds every scope of its time holds later
 * scopes too: otherwise no key could grant them.
 */
export function heldScopes(kind: KeyKind, kept: readonly string[]): readonly string[] {
  if (kind !== 'organisation-service' || kept.length < FIRST.length || kept.length >= ALL.length) return kept;
  const held = new Set(kept);
  return FIRST.every((scope) => held.has(scope)) ? ALL : kept;
}
