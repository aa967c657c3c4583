// Every service with what implements it.

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
import { AssistantsService } from '../../gen/gateway/inference/v2/assistants_pb.ts';
import { AudioService } from '../../gen/gateway/inference/v2/audio_pb.ts';
import { BatchesService } from '../../gen/gateway/inference/v2/batches_pb.ts';
import { BedrockService } from '../../gen/gateway/inference/v2/bedrock_pb.ts';
import { ChatService } from '../../gen/gateway/inference/v2/chat_pb.ts';
import { CompletionsService } from '../../gen/gateway/inference/v2/completions_pb.ts';
import { ConfigExplanationService } from '../../gen/gateway/inference/v2/config_pb.ts';
import { ContainersService } from '../../gen/gateway/inference/v2/containers_pb.ts';
import { EmbeddingsService } from '../../gen/gateway/inference/v2/embeddings_pb.ts';
import { FilesService } from '../../gen/gateway/inference/v2/files_pb.ts';
import { FineTuningService } from '../../gen/gateway/inference/v2/fine_tuning_pb.ts';
import { GeminiService } from '../../gen/gateway/inference/v2/gemini_pb.ts';
import { ImagesService } from '../../gen/gateway/inference/v2/images_pb.ts';
import { MessagesService } from '../../gen/gateway/inference/v2/messages_pb.ts';
import { ModelsService } from '../../gen/gateway/inference/v2/models_pb.ts';
import { ModerationsService } from '../../gen/gateway/inference/v2/moderations_pb.ts';
import { OcrService } from '../../gen/gateway/inference/v2/ocr_pb.ts';
import { PromptCompletionsService } from '../../gen/gateway/inference/v2/prompts_pb.ts';
import { ProxyService } from '../../gen/gateway/inference/v2/proxy_pb.ts';
import { RealtimeService } from '../../gen/gateway/inference/v2/realtime_pb.ts';
import { RerankService } from '../../gen/gateway/inference/v2/rerank_pb.ts';
import { ResponsesService } from '../../gen/gateway/inference/v2/responses_pb.ts';
import { UploadsService } from '../../gen/gateway/inference/v2/uploads_pb.ts';
import { VectorStoresService } from '../../gen/gateway/inference/v2/vector_stores_pb.ts';
import { VideosService } from '../../gen/gateway/inference/v2/videos_pb.ts';
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
import type { AliasCatalogue } from '../configs/alias-catalogue.ts';
import { audioService } from '../inference/audio.ts';
import type { OwnBatches } from '../inference/batches/own-batches.ts';
import { batchesService } from '../inference/batches/service.ts';
import type { SettleDeps } from '../inference/batches/settle-output.ts';
import { bedrockService } from '../inference/bedrock.ts';
import { chatService } from '../inference/chat.ts';
import { completionsService } from '../inference/completions.ts';
import { containersService } from '../inference/containers.ts';
import { embeddingsService } from '../inference/embeddings.ts';
import { configExplanationService } from '../inference/explain-config.ts';
import type { OwnFiles } from '../inference/files/own-files.ts';
import type { OwnUploads } from '../inference/files/own-uploads.ts';
import type { ProviderCopies } from '../inference/files/provider-copies.ts';
import { relays } from '../inference/files/relays.ts';
import { filesService } from '../inference/files/service.ts';
import { uploadsService } from '../inference/files/uploads.ts';
import { geminiService } from '../inference/gemini.ts';
import { imagesService } from '../inference/images.ts';
import { messagesService } from '../inference/messages.ts';
import { modelsService } from '../inference/models.ts';
import { moderationsService } from '../inference/moderations.ts';
import { ocrService } from '../inference/ocr.ts';
import type { Pipeline } from '../inference/pipeline/pipeline.ts';
import type { PromptRuns } from '../inference/prompts.ts';
import { proxyService } from '../inference/proxy.ts';
import { type RealtimeDeps, realtimeService } from '../inference/realtime/service.ts';
import { rerankService } from '../inference/rerank.ts';
import type { KeptResponses } from '../inference/responses/kept-responses.ts';
import { responsesService } from '../inference/responses/service.ts';
import { videosService } from '../inference/videos.ts';
import { providers } from '../providers/catalog/registry.ts';
import { ASSISTANTS, FINE_TUNING, VECTOR_STORES } from '../providers/relayed-rows.ts';
import { implement } from '../rpc/implement.ts';
import type { Registration } from '../rpc/methods.ts';

/** Files that the gateway keeps, and their copies at providers. */
export interface FilesDeps {
  readonly files: OwnFiles;
  readonly copies: ProviderCopies;
  readonly uploads: OwnUploads;
  readonly batches: OwnBatches;
  /** Of what providers' own batches have written. */
  readonly settling: SettleDeps;
}

/** The list that the transports, the routes and the documents are made of. */
export function registrations(
  pipeline: Pipeline,
  logs: Parameters<typeof logsService>[0] & Pick<LogExportsDeps, 'blobs' | 'links'>,
  identity: InvitesDeps &
    PromptsDeps & {
      readonly runs: PromptRuns;
      readonly keptResponses: KeptResponses;
      readonly sessionsOf: RealtimeDeps;
    } & FilesDeps &
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
    ModelPricingDeps & { readonly aliases: AliasCatalogue },
  audit: AuditLogsDeps,
  declared: DeclaredStateDeps,
): Registration[] {
  const { models } = pipeline;
  const { replica, aliases } = identity;
  const ownModels = {
    models,
    providersOf: replica.providersOf.bind(replica),
    aliasesOf: aliases.of.bind(aliases),
  };
  return [
    implement(ChatService, chatService(pipeline)),
    implement(MessagesService, messagesService(pipeline)),
    implement(GeminiService, geminiService(pipeline)),
    implement(BedrockService, bedrockService(pipeline)),
    implement(CompletionsService, completionsService(pipeline)),
    implement(EmbeddingsService, embeddingsService(pipeline)),
    implement(ModerationsService, moderationsService(pipeline)),
    implement(RerankService, rerankService(pipeline)),
    ...media(pipeline, identity.sessionsOf),
    implement(ResponsesService, responsesService(pipeline, identity.keptResponses)),
    implement(ModelsService, modelsService(pipeline, ownModels)),
    implement(ConfigExplanationService, configExplanationService(pipeline)),
    implement(PromptCompletionsService, identity.runs.service),
    ...fileServices(pipeline, identity),
    implement(ProxyService, proxyService(pipeline)),
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
    ...placeRegistrations(identity),
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

/** The services of the tenancy. */
function placeRegistrations(
  identity: Parameters<typeof workspacesService>[0] & Parameters<typeof organisationsService>[0],
): Registration[] {
  return [
    implement(OrganisationsService, organisationsService(identity)),
    implement(DeploymentsService, deploymentsService(identity)),
    implement(WorkspacesService, workspacesService(identity)),
    implement(WorkspaceExclusionsService, workspaceExclusionsService(identity)),
    implement(WorkspaceMembersService, workspaceMembersService(identity)),
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

function fileServices(pipeline: Pipeline, identity: FilesDeps): Registration[] {
  return [
    implement(FilesService, filesService(pipeline, identity.files, identity.settling)),
    implement(UploadsService, uploadsService(pipeline, identity.copies, identity.uploads)),
    implement(BatchesService, batchesService(pipeline, identity)),
    implement(FineTuningService, relays(pipeline, identity.copies, FINE_TUNING)),
    implement(VectorStoresService, relays(pipeline, identity.copies, VECTOR_STORES)),
    implement(AssistantsService, relays(pipeline, identity.copies, ASSISTANTS)),
    implement(VideosService, videosService(pipeline, identity.copies)),
    implement(ContainersService, containersService(pipeline, identity.copies)),
  ];
}

/** What is no text. */
function media(pipeline: Pipeline, sessionsOf: RealtimeDeps): Registration[] {
  return [
    implement(ImagesService, imagesService(pipeline)),
    implement(AudioService, audioService(pipeline)),
    implement(OcrService, ocrService(pipeline)),
    implement(RealtimeService, realtimeService(pipeline, sessionsOf)),
  ];
}
