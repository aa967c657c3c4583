// Examples of whole messages, where a schema alone would make a poor one or cannot say a rule.

const CONFIG = {
  strategy: { mode: 'fallback' },
  retry: { attempts: 2 },
  targets: [{ provider: '@openai-eu' }, { provider: '@anthropic' }],
};
const GUARDRAIL = {
  name: 'No passwords',
  workspace_id: 'default',
  checks: [{ id: 'default.contains', parameters: { operator: 'none', words: ['password'] } }],
  actions: { deny: true },
};
const TEMPLATE = '[{"role":"user","content":"Greet {{name}}."}]';
const PRICE = { request_token: { price: 0.0002 }, response_token: { price: 0.0008 } };
const LOG = {
  request: {
    url: 'https://api.openai.com/v1/chat/completions',
    method: 'POST',
    provider: 'openai',
    body: { model: 'gpt-4o-mini', messages: [{ role: 'user', content: 'Say hello' }] },
  },
  response: {
    status: 200,
    response_time: 420,
    body: { model: 'gpt-4o-mini', usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 } },
  },
  metadata: { trace_id: 'a-trace' },
};

/** By the component's name. */
export const BODIES: Readonly<Record<string, unknown>> = {
  CreateChatCompletionRequest: {
    model: 'gpt-4o-mini',
    messages: [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Say hello' },
    ],
    max_tokens: 256,
  },
  ChatCompletion: {
    id: 'chatcmpl-3c90c3cc',
    object: 'chat.completion',
    created: 1_795_342_500,
    model: 'gpt-4o-mini',
    choices: [{ index: 0, message: { role: 'assistant', content: 'Hello!' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 2, total_tokens: 11 },
  },
  CreateCompletionRequest: { model: 'gpt-3.5-turbo-instruct', prompt: 'Say hello', max_tokens: 16 },
  CreateEmbeddingsRequest: { model: 'text-embedding-3-small', input: 'Oslo is a city.' },
  CreateModerationRequest: { model: 'omni-moderation-latest', input: 'Say hello' },
  CreateRerankRequest: {
    model: 'rerank-v3.5',
    query: 'Where is Oslo?',
    documents: ['Oslo is the capital of Norway.', 'Tea is a drink.'],
    top_n: 1,
  },
  CreateMessageRequest: {
    model: 'claude-sonnet-4-5',
    max_tokens: 256,
    messages: [{ role: 'user', content: 'Say hello' }],
  },
  CountMessageTokensRequest: {
    model: 'claude-sonnet-4-5',
    messages: [{ role: 'user', content: 'Say hello' }],
  },
  CreateResponseRequest: { model: 'gpt-4o-mini', input: 'Say hello' },
  CreateConfigRequest: { name: 'Chat', config: CONFIG, workspace_id: 'default' },
  UpdateConfigRequest: { config: CONFIG },
  ExplainConfigRequest: { config: CONFIG, params: { model: 'gpt-4o-mini' }, path: '/v1/chat/completions' },
  CreateModelAliasRequest: { name: 'support-chat', config: 'pc-chat-1d0224' },
  UpdateModelAliasRequest: { config: 'pc-chat-1d0224' },
  CreateGuardrailRequest: GUARDRAIL,
  UpdateGuardrailRequest: { checks: GUARDRAIL.checks, actions: GUARDRAIL.actions },
  CreateIntegrationRequest: {
    name: 'OpenAI',
    slug: 'openai-eu',
    ai_provider_id: 'openai',
    key: 'sk-made-up-0123456789',
  },
  UpdateIntegrationWorkspacesRequest: { workspaces: [{ id: 'default', enabled: true }] },
  UpdateIntegrationModelsRequest: { models: [{ slug: 'gpt-4o-mini', enabled: true }] },
  DeleteIntegrationModelsRequest: { slugs: 'gpt-4o-mini' },
  ModelPricingConfig: { type: 'static', pay_as_you_go: PRICE },
  CreateProviderRequest: {
    name: 'OpenAI',
    slug: 'my-openai',
    integration_id: 'openai-eu',
    workspace_id: 'default',
  },
  CreateVirtualKeyRequest: {
    name: 'OpenAI',
    slug: 'my-openai',
    provider: 'openai',
    key: 'sk-made-up-0123456789',
    workspace_id: 'default',
  },
  CreateApiKeyRequest: { name: 'Support', workspace_id: 'default', scopes: ['completions.write'] },
  RotateApiKeyRequest: { key_transition_period_ms: 1_800_000 },
  CreateSecretReferenceRequest: {
    name: 'OpenAI',
    slug: 'openai-key',
    manager_type: 'hashicorp_vault',
    secret_path: 'secret/data/openai',
    secret_key: 'key',
    auth_config: {
      vault_auth_type: 'token',
      vault_addr: 'https://vault.example.com:8200',
      vault_token: 'hvs.made-up',
    },
  },
  CreateMcpIntegrationRequest: {
    name: 'Tickets',
    slug: 'tickets',
    url: 'https://mcp.example.com/mcp',
    auth_type: 'headers',
    transport: 'http',
    configurations: { custom_headers: { authorization: 'Bearer made-up-0123456789' } },
  },
  UpdateMcpIntegrationRequest: { description: 'Tickets of the support team' },
  UpdateMcpIntegrationWorkspacesRequest: { workspaces: [{ id: 'default', enabled: true }] },
  UpdateMcpIntegrationCapabilitiesRequest: {
    capabilities: [{ name: 'delete_ticket', type: 'tool', enabled: false }],
  },
  SyncMcpIntegrationRequest: {
    server_info: { name: 'tickets', version: '1.0.0', protocol_version: '2026-07-28' },
    capabilities: [{ name: 'echo', type: 'tool', input_schema: { type: 'object' } }],
  },
  UpdateMcpIntegrationOpenApiRequest: {
    source: 'https://api.example.com/openapi.json',
    operations: ['listPets', 'GET /pets/{petId}'],
  },
  CreateMcpServerRequest: {
    name: 'Tickets',
    slug: 'tickets',
    mcp_integration_id: 'tickets',
    workspace_id: 'default',
  },
  UpdateMcpServerCapabilitiesRequest: {
    capabilities: [{ name: 'delete_ticket', type: 'tool', enabled: false }],
  },
  SyncMcpServerCapabilitiesRequest: {
    capabilities: [{ name: 'echo', type: 'tool', input_schema: { type: 'object' } }],
  },
  UpdateMcpServerUserAccessRequest: { default_user_access: 'deny' },
  SetMcpServerTokensRequest: { access_token: 'made-up-0123456789' },
  CreatePromptRequest: {
    name: 'Greeting',
    workspace_id: 'default',
    model: 'gpt-4o-mini',
    virtual_key: 'my-openai',
    parameters: { temperature: 0.2 },
    string: TEMPLATE,
  },
  UpdatePromptRequest: { string: TEMPLATE },
  CreatePromptPartialRequest: { name: 'Tone', string: 'Be kind.', workspace_id: 'default' },
  CreatePromptCompletionRequest: { variables: { name: 'Ada' }, max_tokens: 50 },
  RenderPromptRequest: { variables: { name: 'Ada' } },
  CreateRateLimitPolicyRequest: {
    workspace_id: 'default',
    conditions: [{ key: 'metadata.team', value: '*' }],
    group_by: [{ key: 'metadata.team' }],
    type: 'requests',
    unit: 'rpm',
    value: 100,
  },
  CreateUsageLimitPolicyRequest: {
    workspace_id: 'default',
    conditions: [{ key: 'api_key', value: '*' }],
    group_by: [{ key: 'api_key' }],
    type: 'cost',
    credit_limit: 50,
    alert_threshold: 40,
    periodic_reset: 'monthly',
  },
  CreateModelPriceRequest: {
    provider: 'openai',
    model: 'gpt-4o',
    effective_from: '2027-01-01T00:00:00Z',
    pay_as_you_go: PRICE,
  },
  StartReRateRequest: { from: '2026-11-01T00:00:00Z', to: '2026-12-01T00:00:00Z', dry_run: true },
  CreateLogsRequest: LOG,
  CreateFeedbackRequest: { trace_id: 'a-trace', value: 10, weight: 0.5, metadata: { _user: 'ada' } },
  CreateLogExportRequest: {
    workspace_id: 'default',
    filters: {
      time_of_generation_min: '2026-11-01T00:00:00Z',
      time_of_generation_max: '2026-12-01T00:00:00Z',
    },
    requested_data: ['id', 'trace_id', 'created_at', 'cost'],
  },
  ReplaceJwtSettingsRequest: {
    jwks_uri: 'https://issuer.example.com/jwks.json',
    issuers: ['https://issuer.example.com'],
    audiences: ['sluice'],
  },
  UpdateOrganisationDefaultsRequest: { metadata: { cost_centre: '42' } },
  DeleteWorkspaceRequest: { name: 'Support', force_delete: false },
};
