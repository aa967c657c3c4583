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
  // Nothing is called: whoever may read configs may ask what one does.
  ExplainConfig: everybody,
  CreatePromptCompletion: workspaceKeys,
  StreamPromptCompletion: workspaceKeys,

  // Organisation settings.
  GetOrganisation: adminKeys,
  PlanDeclaredState: adminKeys,
  ApplyDeclaredState: adminKeys,
  ExportDeclaredState: adminKeys,
  UpdateOrganisation: adminKeys,
  GetOrganisationDefaults: adminKeys,
  UpdateOrganisationDefaults: adminKeys,
  GetWorkspaceExclusions: adminKeys,
  UpdateWorkspaceExclusions: adminKeys,
  GetJwtSettings: adminKeys,
  ReplaceJwtSettings: adminKeys,
  DeleteJwtSettings: adminKeys,
  CreateDeployment: adminKeys,
  ListDeployments: adminKeys,
  GetDeployment: adminKeys,
  UpdateDeployment: adminKeys,
  DeleteDeployment: adminKeys,
  GetModelPricing: open,
  CreateModelPrice: adminKeys,
  ListModelPrices: adminKeys,
  GetModelPrice: adminKeys,
  UpdateModelPrice: adminKeys,
  DeleteModelPrice: adminKeys,
  StartReRate: adminKeys,
  GetReRate: adminKeys,
  CreateSecretReference: adminKeys,
  ListSecretReferences: adminKeys,
  GetSecretReference: adminKeys,
  UpdateSecretReference: adminKeys,
  DeleteSecretReference: adminKeys,
  TestSecretReference: adminKeys,

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
  ListUsageLimitEntities: everybody,
  ResetUsageLimitEntity: keyManagers,
  DeleteUsageLimitPolicy: keyManagers,

  // "Create/manage configs": admin keys in all workspaces, workspace keys in theirs; members look.
  CreateConfig: keyManagers,
  ListConfigs: everybody,
  GetConfig: everybody,
  UpdateConfig: keyManagers,
  DeleteConfig: keyManagers,
  CreateModelAlias: keyManagers,
  ListModelAliases: everybody,
  GetModelAlias: everybody,
  UpdateModelAlias: keyManagers,
  DeleteModelAlias: keyManagers,
  ListConfigVersions: everybody,
  GetConfigUsage: everybody,

  // Integrations: managers and above write, in their workspace; stored providers: "Create/manage providers".
  CreateIntegration: keyManagers,
  ListIntegrations: everybody,
  GetIntegration: everybody,
  UpdateIntegration: keyManagers,
  DeleteIntegration: keyManagers,
  ListIntegrationModels: everybody,
  UpdateIntegrationModels: keyManagers,
  DeleteIntegrationModels: keyManagers,
  ListIntegrationWorkspaces: everybody,
  UpdateIntegrationWorkspaces: keyManagers,
  CreateProvider: everybody,
  ListProviders: everybody,
  ListProviderCatalogue: everybody,
  GetProvider: everybody,
  UpdateProvider: everybody,
  DeleteProvider: everybody,
  CreateVirtualKey: everybody,
  ListVirtualKeys: everybody,
  GetVirtualKey: everybody,
  UpdateVirtualKey: everybody,
  DeleteVirtualKey: everybody,

  // Guardrails alike.
  CreateGuardrail: keyManagers,
  ListGuardrails: everybody,
  GetGuardrail: everybody,
  UpdateGuardrail: keyManagers,
  DeleteGuardrail: keyManagers,
  ListGuardrailVersions: everybody,

  // Prompts: "members view only, managers view and write"; rendering is a use, for workspace keys alone.
  CreatePrompt: keyManagers,
  ListPrompts: everybody,
  GetPrompt: everybody,
  UpdatePrompt: keyManagers,
  DeletePrompt: keyManagers,
  ListPromptVersions: everybody,
  ComparePromptVersions: everybody,
  GetPromptVersion: everybody,
  UpdatePromptVersion: keyManagers,
  PublishPrompt: keyManagers,
  RenderPrompt: workspaceKeys,
  CreatePromptPartial: keyManagers,
  ListPromptPartials: everybody,
  GetPromptPartial: everybody,
  UpdatePromptPartial: keyManagers,
  DeletePromptPartial: keyManagers,
  ListPromptPartialVersions: everybody,
  PublishPromptPartial: keyManagers,
  CreateCollection: keyManagers,
  ListCollections: everybody,
  GetCollection: everybody,
  UpdateCollection: keyManagers,
  DeleteCollection: keyManagers,
  CreateLabel: keyManagers,
  ListLabels: everybody,
  GetLabel: everybody,
  UpdateLabel: keyManagers,
  DeleteLabel: keyManagers,

  // The books: all read and export; "Create/update feedback" and writing logs take a workspace key.
  ListLogs: everybody,
  GetLog: everybody,
  CreateLogs: workspaceKeys,
  CreateLogExport: everybody,
  ListLogExports: everybody,
  GetLogExport: everybody,
  GetLogExportFieldRestrictions: everybody,
  UpdateLogExport: everybody,
  StartLogExport: everybody,
  CancelLogExport: everybody,
  DownloadLogExport: everybody,
  CreateFeedback: workspaceKeys,
  UpdateFeedback: workspaceKeys,
  GetTrace: everybody,
  // "Access analytics": admin keys for all workspaces, workspace keys for theirs; "both enabled by default" for
  // members and managers.
  GetRequestsGraph: everybody,
  GetCostGraph: everybody,
  GetLatencyGraph: everybody,
  GetTokensGraph: everybody,
  GetUsersGraph: everybody,
  GetUserRequestsGraph: everybody,
  GetErrorsGraph: everybody,
  GetErrorRateGraph: everybody,
  GetErrorStacksGraph: everybody,
  GetErrorCodesGraph: everybody,
  GetRescuedRequestsGraph: everybody,
  GetCacheHitRateGraph: everybody,
  GetCacheLatencyGraph: everybody,
  GetFeedbackGraph: everybody,
  GetFeedbackScoresGraph: everybody,
  GetWeightedFeedbackGraph: everybody,
  GetFeedbackModelsGraph: everybody,
  ListUserGroups: everybody,
  ListModelGroups: everybody,
  ListWorkspaceGroups: everybody,
  ListMetadataGroups: everybody,
  ListAnalyticsGroups: everybody,
  GetCacheSummary: everybody,
  ListAuditLogs: adminKeys,
  ExportAuditLogs: adminKeys,
  VerifyAuditLogs: adminKeys,
};
