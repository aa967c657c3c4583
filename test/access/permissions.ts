// Who may call what, written from the specification ("Admin API key kinds and permissions" and the additional
// access rules) and, where it is silent, from the facts of its ecosystem: never from the code. With the default
// security settings; every key holds all scopes that its kind may hold.

/** Callers: an admin key, a workspace's service key, and people's workspace keys by the person's role. */
export const CALLERS = ['admin', 'service', 'owner', 'orgAdmin', 'wsAdmin', 'manager', 'member'] as const;
export type Caller = (typeof CALLERS)[number];

const everybody = 'admin service owner orgAdmin wsAdmin manager member';
/** "Manage organisation settings", "Create/manage workspaces", "Manage users and permissions": admin keys alone. */
const adminKeys = 'admin';
/** Model calls: admin keys are for administration. */
const workspaceKeys = 'service owner orgAdmin wsAdmin manager member';
/** What a person manages in the workspace: the roles table's "single workspace", not for services and members. */
const managers = 'admin owner orgAdmin wsAdmin manager';
/** Making keys: managers and above in their workspace, members not. */
const keyManagers = 'admin service owner orgAdmin wsAdmin manager';
const open = 'open';

/** By method. `open`: without a key. */
export const PERMISSIONS: Readonly<Record<string, string>> = {
  // Model calls.
  CreateChatCompletion: workspaceKeys,
  StreamChatCompletion: workspaceKeys,
  CreateCompletion: workspaceKeys,
  StreamCompletion: workspaceKeys,
  CreateEmbeddings: workspaceKeys,
  CreateModeration: workspaceKeys,
  ListModels: workspaceKeys,
  GetModel: workspaceKeys,
  Forward: workspaceKeys,
  ExplainConfig: workspaceKeys,

  // Organisation settings.
  GetOrganisation: adminKeys,
  UpdateOrganisation: adminKeys,
  GetOrganisationDefaults: adminKeys,
  UpdateOrganisationDefaults: adminKeys,
  GetJwtSettings: adminKeys,
  ReplaceJwtSettings: adminKeys,
  DeleteJwtSettings: adminKeys,
  CreateDeployment: adminKeys,
  ListDeployments: adminKeys,
  GetDeployment: adminKeys,
  UpdateDeployment: adminKeys,
  DeleteDeployment: adminKeys,

  // Users and permissions.
  ListUsers: adminKeys,
  GetUser: adminKeys,
  UpdateUser: adminKeys,
  DeleteUser: adminKeys,
  CreateUserInvite: adminKeys,
  ListUserInvites: adminKeys,
  GetUserInvite: adminKeys,
  CancelUserInvite: adminKeys,
  ResendUserInvite: adminKeys,
  AcceptUserInvite: open,

  // Workspaces and their members.
  CreateWorkspace: adminKeys,
  DeleteWorkspace: adminKeys,
  ListWorkspaces: everybody,
  GetWorkspace: everybody,
  UpdateWorkspace: managers,
  AddWorkspaceMembers: managers,
  ListWorkspaceMembers: everybody,
  GetWorkspaceMember: everybody,
  UpdateWorkspaceMember: managers,
  RemoveWorkspaceMember: managers,

  // API keys.
  CreateApiKey: keyManagers,
  ListApiKeys: everybody,
  GetApiKey: everybody,
  UpdateApiKey: keyManagers,
  DeleteApiKey: keyManagers,
  RotateApiKey: keyManagers,

  // Policies: for both kinds of keys, a member reads.
  CreateRateLimitPolicy: keyManagers,
  ListRateLimitPolicies: everybody,
  GetRateLimitPolicy: everybody,
  UpdateRateLimitPolicy: keyManagers,
  DeleteRateLimitPolicy: keyManagers,
  CreateUsageLimitPolicy: keyManagers,
  ListUsageLimitPolicies: everybody,
  GetUsageLimitPolicy: everybody,
  UpdateUsageLimitPolicy: keyManagers,
  DeleteUsageLimitPolicy: keyManagers,

  // "Create/manage configs": admin keys in all workspaces, workspace keys in theirs; members look.
  CreateConfig: keyManagers,
  ListConfigs: everybody,
  GetConfig: everybody,
  UpdateConfig: keyManagers,
  DeleteConfig: keyManagers,
  ListConfigVersions: everybody,
  GetConfigUsage: everybody,

  // The books.
  ListLogs: everybody,
  ListAuditLogs: adminKeys,
  ExportAuditLogs: adminKeys,
  VerifyAuditLogs: adminKeys,
};
