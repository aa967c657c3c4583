// One resource of each kind in a workspace, and what operations of the control plane need beside its id.
import { randomUUID } from 'node:crypto';
import type { DescMethod } from '@bufbuild/protobuf';
import type { Route } from '../../src/rest/routes.ts';
import { type Json, ok } from '../support/front-door.ts';
import type { TestGateway } from '../support/gateway.ts';
import { bookEntry } from './logs-books.ts';
import type { JsonObject } from './runner.ts';

/** Ids by the name of the operation's path field and, where several resources share one, its service. */
export type Made = Readonly<Record<string, string>>;

/** Makes the resources. @param workspace its id @param routes of operations on resources, and of those that make them */
export async function madeIn(
  gateway: TestGateway,
  workspace: string,
  routes: readonly Route[],
): Promise<Made> {
  const one = (path: string, body: Json): Promise<Json> =>
    ok(gateway, 'POST', path, { body: { workspace_id: workspace, ...body } });
  const id = async (path: string, body: Json): Promise<string> => String((await one(path, body)).id);
  const tag = randomUUID().slice(0, 8);
  const policy = {
    conditions: [{ key: 'api_key', value: '*' }],
    group_by: [{ key: 'api_key' }],
    value: 5,
  };
  await one('/integrations', {
    name: 'I',
    slug: `i-${tag}`,
    ai_provider_id: 'openai',
    key: 'sk-1234567890',
    create_default_provider: false,
  });
  for (const slug of [`v-${tag}`, `w-${tag}`])
    await one('/virtual-keys', { name: slug, slug, provider: 'openai', key: 'sk-1234567890' });
  const mcp = await id('/mcp-integrations', {
    name: 'M',
    url: 'https://mcp.example.com/mcp',
    auth_type: 'none',
    transport: 'http',
  });
  const unused = { name: 'N', url: 'https://mcp.example.com/mcp', auth_type: 'none', transport: 'http' };
  const prompt = await one('/prompts', { name: 'p', string: 'Hi {{name}}', model: 'gpt-4o' });
  const entry = bookEntry(gateway, { workspaceId: workspace });
  gateway.app.requestLog.record(entry);
  const config = await id('/configs', { name: 'c', config: { cache: { mode: 'simple' } } });
  // A config that an alias uses cannot be deleted.
  const aliased = await id('/configs', { name: 'd', config: { cache: { mode: 'simple' } } });
  const key = { name: 'k', scopes: ['completions.write'] };
  const made = {
    'ApiKeysService.id': await id('/api-keys/workspace/service', key),
    'ConfigsService.slug': config,
    alias_id: await id('/model-aliases', { name: `a-${tag}`, config: aliased }),
    guardrail_id: await id('/guardrails', {
      name: 'g',
      checks: [{ id: 'default.notNull', parameters: {} }],
      actions: {},
    }),
    'IntegrationsService.slug': `i-${tag}`,
    'McpIntegrationsService.id': await id('/mcp-integrations', unused),
    'McpServersService.id': await id('/mcp-servers', { name: 'S', mcp_integration_id: mcp }),
    export_id: await id('/logs/exports', { filters: {}, requested_data: ['id'] }),
    log_id: entry.id,
    trace_id: entry.traceId,
    partial_id: await id('/prompts/partials', { name: 'p', string: 'Hi' }),
    prompt_id: String(prompt.id),
    version_id: String(prompt.version_id),
    'ProvidersService.slug': `v-${tag}`,
    'VirtualKeysService.slug': `w-${tag}`,
    'RateLimitPoliciesService.policy_id': await id('/policies/rate-limits', {
      ...policy,
      type: 'requests',
      unit: 'rpm',
    }),
    'UsageLimitPoliciesService.policy_id': await id('/policies/usage-limits', {
      type: 'cost',
      credit_limit: 5,
      conditions: policy.conditions,
      group_by: policy.group_by,
    }),
    workspace_id: workspace,
  };
  return { ...(await namedOnly(routes, made, (path) => id(path, { name: `n-${tag}` }))), ...made };
}

/** Resources that a name is enough for: `POST /things` makes what `GET /things/{thing_id}` answers with. */
async function namedOnly(
  routes: readonly Route[],
  made: Made,
  make: (path: string) => Promise<string>,
): Promise<Made> {
  const found: Record<string, string> = {};
  for (const { verb, template, method } of routes) {
    const [, path = '', field = ''] = /^(\/[^{]+)\/\{(\w+)\}$/.exec(template.text) ?? [];
    const isKnown = [field, `${method.parent.name}.${field}`].some((name) => name in made);
    const isMade = routes.some((other) => other.verb === 'POST' && other.template.text === path);
    if (verb === 'GET' && isMade && !isKnown) found[field] = await make(path);
  }
  return found;
}

/** Members without which an operation's request is refused before anybody looks for its resource. */
const NEEDED: Readonly<Record<string, JsonObject>> = {
  PublishPrompt: { version: 1 },
  PublishPromptPartial: { version: 1 },
  ComparePromptVersions: { from: '1', to: '1' },
  UpdateLogExport: { filters: {}, requested_data: ['id'] },
  UpdateIntegrationModels: { models: [{ slug: 'gpt-4o', enabled: true }] },
  DeleteIntegrationModels: { slugs: 'gpt-4o' },
  AddWorkspaceMembers: { users: [{ id: randomUUID(), role: 'member' }] },
  UpdateWorkspaceMember: { role: 'member' },
  UpdateGuardrail: { name: 'h' },
  UpdateCollection: { name: 'd' },
  UpdateMcpIntegration: { name: 'd' },
  UpdateMcpIntegrationWorkspaces: {},
  UpdateMcpIntegrationCapabilities: { capabilities: [{ name: 'echo', type: 'tool', enabled: true }] },
  SyncMcpIntegration: { server_info: { name: 'm' } },
  UpdateMcpServer: { name: 'd' },
  UpdateMcpServerCapabilities: { capabilities: [{ name: 'echo', type: 'tool', enabled: true }] },
  SyncMcpServerCapabilities: { capabilities: [{ name: 'echo', type: 'tool' }] },
  SyncMcpServerMetadata: { server_name: 'm' },
  UpdateMcpServerUserAccess: { default_user_access: 'deny' },
  SetMcpServerTokens: { access_token: 'at' },
  UpdatePromptVersion: { label_id: null },
};

/** The request of an operation for its resource among those that were made; unknown ids where there is none. */
export function requestOf(method: DescMethod, fields: readonly string[], made: Made): JsonObject {
  const ids = fields.map((field): [string, string] => [
    field,
    made[`${method.parent.name}.${field}`] ?? made[field] ?? randomUUID(),
  ]);
  return { ...NEEDED[method.name], ...Object.fromEntries(ids) };
}
