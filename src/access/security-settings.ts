// What organisations decide about their members and managers, by name (admin-api facts, part 3.6;
// the defaults of prompts are the specification's: members view, managers view and write).

/** A setting's category: what an organisation opens to its workspaces as a whole. */
export type SecurityCategory =
  | 'logs'
  | 'log_metadata'
  | 'analytics'
  | 'all_data'
  | 'api_keys'
  | 'configs'
  | 'prompts'
  | 'virtual_keys'
  | 'guardrails'
  | 'workspaces'
  | 'workspace_users'
  | 'integrations'
  | 'mcp';

const TABLE = {
  membersViewLogs: ['logs', true],
  managersViewLogs: ['logs', true],
  organisationAdminsViewLogs: ['logs', true],
  membersViewLogMetadata: ['log_metadata', true],
  managersViewLogMetadata: ['log_metadata', true],
  organisationAdminsViewLogMetadata: ['log_metadata', true],
  membersViewAnalytics: ['analytics', true],
  managersViewAnalytics: ['analytics', true],
  membersViewAllData: ['all_data', true],
  managersViewAllData: ['all_data', true],
  membersViewApiKeys: ['api_keys', true],
  managersViewApiKeys: ['api_keys', true],
  // The specification's roles: a workspace member creates no keys, until the organisation says otherwise.
  membersWriteApiKeys: ['api_keys', false],
  managersWriteApiKeys: ['api_keys', true],
  membersViewConfigs: ['configs', true],
  managersViewConfigs: ['configs', true],
  membersWriteConfigs: ['configs', false],
  managersWriteConfigs: ['configs', true],
  membersViewPrompts: ['prompts', true],
  managersViewPrompts: ['prompts', true],
  membersWritePrompts: ['prompts', false],
  managersWritePrompts: ['prompts', true],
  membersViewVirtualKeys: ['virtual_keys', true],
  managersViewVirtualKeys: ['virtual_keys', true],
  membersWriteVirtualKeys: ['virtual_keys', true],
  managersWriteVirtualKeys: ['virtual_keys', true],
  membersViewGuardrails: ['guardrails', true],
  managersViewGuardrails: ['guardrails', true],
  membersWriteGuardrails: ['guardrails', false],
  managersWriteGuardrails: ['guardrails', true],
  managersUpdateWs: ['workspaces', true],
  managersWriteWsUsers: ['workspace_users', true],
  managersWriteWsIntegrations: ['integrations', true],
  managersWriteWsMcpIntegrations: ['mcp', true],
  managersWriteMcpServers: ['mcp', true],
} as const satisfies Record<string, readonly [SecurityCategory, boolean]>;

/** A setting's name, as callers write it. */
export type SecuritySetting = keyof typeof TABLE;

/** Some settings, by name. */
export type SecuritySettings = Readonly<Partial<Record<SecuritySetting, boolean>>>;

/** All names, in the order in which they are answered. */
export const SECURITY_SETTINGS = Object.keys(TABLE) as readonly SecuritySetting[];

/** All categories. */
export const SECURITY_CATEGORIES: readonly SecurityCategory[] = [
  ...new Set(Object.values(TABLE).map(([category]) => category)),
];

/** Whether a text is a setting's name. */
export function isSecuritySetting(name: string): name is SecuritySetting {
  return Object.hasOwn(TABLE, name);
}

/** The category of a setting. */
export function categoryOf(name: SecuritySetting): SecurityCategory {
  return TABLE[name][0];
}

/** Whether a setting is on: the workspace's value where its category is open to workspaces, else the organisation's, else the default. */
export function securitySetting(
  name: SecuritySetting,
  organisation: { readonly settings: SecuritySettings; readonly open: ReadonlySet<string> } | undefined,
  workspace: SecuritySettings | undefined,
): boolean {
  const own =
    organisation === undefined || organisation.open.has(TABLE[name][0]) ? workspace?.[name] : undefined;
  return own ?? organisation?.settings[name] ?? TABLE[name][1];
}
