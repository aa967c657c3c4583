// The services of the control plane, with what implements them.

import { AnalyticsGraphsService } from '../../gen/gateway/admin/v2/analytics_graphs_pb.ts';
import { AnalyticsGroupsService } from '../../gen/gateway/admin/v2/analytics_groups_pb.ts';
import { AnalyticsSummariesService } from '../../gen/gateway/admin/v2/analytics_summaries_pb.ts';
import { ApiKeysService } from '../../gen/gateway/admin/v2/api_keys_pb.ts';
import { AuditLogsService } from '../../gen/gateway/admin/v2/audit_logs_pb.ts';
import { BudgetsService } from '../../gen/gateway/admin/v2/budgets_pb.ts';
import { CollectionsService } from '../../gen/gateway/admin/v2/collections_pb.ts';
import { ConfigsService } from '../../gen/gateway/admin/v2/configs_pb.ts';
import { DeclaredStateService } from '../../gen/gateway/admin/v2/declared_state_pb.ts';
import { DeploymentsService } from '../../gen/gateway/admin/v2/deployments_pb.ts';
import { FeedbackService } from '../../gen/gateway/admin/v2/feedback_pb.ts';
import { GuardrailsService } from '../../gen/gateway/admin/v2/guardrails_pb.ts';
import { IdentityProvidersService } from '../../gen/gateway/admin/v2/identity_providers_pb.ts';
import { IntegrationsService } from '../../gen/gateway/admin/v2/integrations_pb.ts';
import { JwtSettingsService } from '../../gen/gateway/admin/v2/jwt_pb.ts';
import { LabelsService } from '../../gen/gateway/admin/v2/labels_pb.ts';
import { LogExportsService } from '../../gen/gateway/admin/v2/log_exports_pb.ts';
import { LogsService } from '../../gen/gateway/admin/v2/logs_pb.ts';
import { McpIntegrationsService } from '../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { McpServersService } from '../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { ModelAliasesService } from '../../gen/gateway/admin/v2/model_aliases_pb.ts';
import { ModelPricingService } from '../../gen/gateway/admin/v2/model_pricing_pb.ts';
import { OauthGrantsService } from '../../gen/gateway/admin/v2/oauth_grants_pb.ts';
import { OrganisationsService } from '../../gen/gateway/admin/v2/organisations_pb.ts';
import { PromptPartialsService } from '../../gen/gateway/admin/v2/prompt_partials_pb.ts';
import { PromptsService } from '../../gen/gateway/admin/v2/prompts_pb.ts';
import { ProviderCatalogueService } from '../../gen/gateway/admin/v2/provider_catalogue_pb.ts';
import { ProvidersService } from '../../gen/gateway/admin/v2/providers_pb.ts';
import { RateLimitPoliciesService } from '../../gen/gateway/admin/v2/rate_limit_policies_pb.ts';
import { ScimService } from '../../gen/gateway/admin/v2/scim_pb.ts';
import { SecretReferencesService } from '../../gen/gateway/admin/v2/secret_references_pb.ts';
import { SessionsService } from '../../gen/gateway/admin/v2/sessions_pb.ts';
import { StatusService } from '../../gen/gateway/admin/v2/status_pb.ts';
import { TracesService } from '../../gen/gateway/admin/v2/traces_pb.ts';
import { UsageLimitPoliciesService } from '../../gen/gateway/admin/v2/usage_limit_policies_pb.ts';
import { UserInvitesService } from '../../gen/gateway/admin/v2/user_invites_pb.ts';
import { UsersService } from '../../gen/gateway/admin/v2/users_pb.ts';
import { VirtualKeysService } from '../../gen/gateway/admin/v2/virtual_keys_pb.ts';
import { WorkspaceExclusionsService } from '../../gen/gateway/admin/v2/workspace_exclusions_pb.ts';
import { WorkspaceMembersService } from '../../gen/gateway/admin/v2/workspace_members_pb.ts';
import { WorkspacesService } from '../../gen/gateway/admin/v2/workspaces_pb.ts';
import { analyticsGraphsService } from '../admin/analytics/graphs.ts';
import { analyticsGroupsService } from '../admin/analytics/groups.ts';
import { analyticsSummariesService } from '../admin/analytics/summaries.ts';
import { type ApiKeysDeps, apiKeysService } from '../admin/api-keys/service.ts';
import { type AuditLogsDeps, auditLogsService } from '../admin/audit-logs/service.ts';
import { type BudgetsDeps, budgetsService } from '../admin/budgets/service.ts';
import { collectionsService } from '../admin/collections/service.ts';
import { type ConfigsDeps, configsService } from '../admin/configs/service.ts';
import { type DeclaredStateDeps, declaredStateService } from '../admin/declared-state/service.ts';
import { deploymentsService } from '../admin/deployments/service.ts';
import { feedbackService } from '../admin/feedback/service.ts';
import { guardrailsService } from '../admin/guardrails/service.ts';
import { type IdentityProvidersDeps, identityProvidersService } from '../admin/identity-providers/service.ts';
import { integrationsService } from '../admin/integrations/service.ts';
import { type JwtDeps, jwtSettingsService } from '../admin/jwt/service.ts';
import { labelsService } from '../admin/labels/service.ts';
import { type LogExportsDeps, logExportsService } from '../admin/log-exports/service.ts';
import { logsService } from '../admin/logs/service.ts';
import type { McpDeps } from '../admin/mcp-integrations/deps.ts';
import { mcpIntegrationsService } from '../admin/mcp-openapi/service.ts';
import { mcpServersService } from '../admin/mcp-servers/service.ts';
import { modelAliasesService } from '../admin/model-aliases/service.ts';
import { type ModelPricingDeps, modelPricingService } from '../admin/model-pricing/service.ts';
import { type OauthGrantsDeps, oauthGrantsService } from '../admin/oauth-grants/service.ts';
import { organisationsService } from '../admin/organisations/service.ts';
import { rateLimitPoliciesService } from '../admin/policies/rate-limits.ts';
import { type UsageLimitPoliciesDeps, usageLimitPoliciesService } from '../admin/policies/usage-limits.ts';
import { promptPartialsService } from '../admin/prompt-partials/service.ts';
import type { PromptsDeps } from '../admin/prompts/deps.ts';
import { promptsService } from '../admin/prompts/service.ts';
import { providerCatalogueService } from '../admin/provider-catalogue/service.ts';
import type { ProviderDeps } from '../admin/providers/deps.ts';
import { providersService } from '../admin/providers/service.ts';
import { type ScimServiceDeps, scimService } from '../admin/scim/service.ts';
import { type SecretReferencesDeps, secretReferencesService } from '../admin/secret-references/service.ts';
import { type SessionsDeps, sessionsService } from '../admin/sessions/service.ts';
import { type StatusDeps, statusService } from '../admin/status/service.ts';
import { tracesService } from '../admin/traces/service.ts';
import { type InvitesDeps, userInvitesService } from '../admin/user-invites/service.ts';
import { usersService } from '../admin/users/service.ts';
import { virtualKeysService } from '../admin/virtual-keys/service.ts';
import { workspaceMembersService } from '../admin/workspace-members/service.ts';
import { workspaceExclusionsService } from '../admin/workspaces/exclusions.ts';
import { workspacesService } from '../admin/workspaces/service.ts';
import { providers } from '../providers/catalog/registry.ts';
import { implement } from '../rpc/implement.ts';
import type { Registration } from '../rpc/methods.ts';

/** What the services over the request log are made with. */
export type LogsDeps = Parameters<typeof logsService>[0] & Pick<LogExportsDeps, 'blobs' | 'links'>;

/** What the services of stored resources are made with. */
export type AdminDeps = InvitesDeps &
  PromptsDeps &
  JwtDeps &
  ApiKeysDeps &
  UsageLimitPoliciesDeps &
  ConfigsDeps &
  ProviderDeps &
  SecretReferencesDeps &
  SignedInDeps &
  McpDeps &
  ScimServiceDeps &
  BudgetsDeps &
  StatusDeps &
  ModelPricingDeps;

/** One line for each resource. */
export function adminRegistrations(
  logs: LogsDeps,
  identity: AdminDeps,
  audit: AuditLogsDeps,
  declared: DeclaredStateDeps,
): Registration[] {
  return [
    ...bookServices(logs),
    implement(LogExportsService, logExportsService({ ...identity, ...logs })),
    implement(ApiKeysService, apiKeysService(identity)),
    implement(CollectionsService, collectionsService(identity)),
    implement(LabelsService, labelsService(identity)),
    implement(PromptPartialsService, promptPartialsService(identity)),
    implement(PromptsService, promptsService(identity)),
    implement(ConfigsService, configsService(identity)),
    implement(DeclaredStateService, declaredStateService(declared)),
    implement(ModelAliasesService, modelAliasesService(identity)),
    implement(GuardrailsService, guardrailsService(identity)),
    implement(IntegrationsService, integrationsService(identity)),
    implement(McpIntegrationsService, mcpIntegrationsService(identity)),
    implement(McpServersService, mcpServersService(identity)),
    implement(ProvidersService, providersService(identity)),
    implement(ProviderCatalogueService, providerCatalogueService(providers)),
    implement(VirtualKeysService, virtualKeysService(identity)),
    implement(AuditLogsService, auditLogsService(audit)),
    implement(OrganisationsService, organisationsService(identity)),
    implement(DeploymentsService, deploymentsService(identity)),
    implement(WorkspacesService, workspacesService(identity)),
    implement(WorkspaceExclusionsService, workspaceExclusionsService(identity)),
    implement(WorkspaceMembersService, workspaceMembersService(identity)),
    implement(RateLimitPoliciesService, rateLimitPoliciesService(identity)),
    implement(ModelPricingService, modelPricingService(identity)),
    implement(SecretReferencesService, secretReferencesService(identity)),
    implement(UsageLimitPoliciesService, usageLimitPoliciesService(identity)),
    implement(BudgetsService, budgetsService(identity)),
    implement(StatusService, statusService(identity)),
    ...peopleRegistrations(identity),
  ];
}

type SignedInDeps = SessionsDeps & IdentityProvidersDeps & OauthGrantsDeps;

/** The services of people: who signs in, and with what. */
function peopleRegistrations(
  identity: InvitesDeps & SignedInDeps & ScimServiceDeps & JwtDeps,
): Registration[] {
  return [
    implement(ScimService, scimService(identity)),
    implement(SessionsService, sessionsService(identity)),
    implement(OauthGrantsService, oauthGrantsService(identity)),
    implement(IdentityProvidersService, identityProvidersService(identity)),
    implement(UsersService, usersService(identity)),
    implement(UserInvitesService, userInvitesService(identity)),
    implement(JwtSettingsService, jwtSettingsService(identity)),
  ];
}

/** Services over the request log. */
function bookServices(logs: Parameters<typeof logsService>[0]): Registration[] {
  return [
    implement(LogsService, logsService(logs)),
    implement(FeedbackService, feedbackService(logs)),
    implement(TracesService, tracesService(logs)),
    implement(AnalyticsGraphsService, analyticsGraphsService(logs)),
    implement(AnalyticsGroupsService, analyticsGroupsService(logs)),
    implement(AnalyticsSummariesService, analyticsSummariesService(logs)),
  ];
}
