// An MCP server's body, made of what callers ask for.
import type {
  CreateMcpServerRequest,
  UpdateMcpServerRequest,
} from '../../../gen/gateway/admin/v2/mcp_servers_pb.ts';
import { isShared } from '../../access/mcp/mcp-access.ts';
import { type McpServerBody, RESERVED_SLUGS } from '../../access/mcp/mcp-collections.ts';
import type { Principal } from '../../call/principal.ts';
import type { TenantScope } from '../../call/scope.ts';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { defined, patch } from '../kit/patch.ts';
import { newSlug } from '../kit/slug.ts';
import { seenMcpIntegration } from '../mcp-integrations/access.ts';
import { searchTextOf } from '../mcp-integrations/body.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { RULE_MEMBERS, readRules } from '../mcp-integrations/rules.ts';
import type { Served } from './find.ts';

/** The slug of a new server: a part of its address, and the beginning of its tools' names. @throws GatewayError validation_failed. */
export function serverSlug(given: string | undefined, name: string): string {
  const slug = newSlug(given, '', name, 40);
  if (RESERVED_SLUGS.has(slug.toLowerCase()))
    throw invalidField('slug', `is reserved, as are ${[...RESERVED_SLUGS].join(', ')}`);
  if (slug.includes('__') || slug.endsWith('_'))
    throw invalidField('slug', 'must neither have __ in it nor end with _: tools are named <slug>__<tool>');
  return slug;
}

/** @throws GatewayError validation_failed. */
export async function newServerBody(
  deps: McpDeps,
  caller: Principal,
  scope: TenantScope & { readonly workspaceId: string },
  ownerId: string,
  slug: string,
  request: CreateMcpServerRequest,
): Promise<McpServerBody> {
  const integration = await seenMcpIntegration(deps, caller, request.mcpIntegrationId).catch((error) => {
    if (error instanceof GatewayError && error.reason === 'not_found')
      throw invalidField('mcp_integration_id', 'names no MCP integration that the workspace may use');
    throw error;
  });
  if (!isShared(integration, scope.workspaceId))
    throw invalidField('mcp_integration_id', 'names no MCP integration that the workspace may use');
  return defined<McpServerBody>({
    name: request.name,
    searchText: searchTextOf(request.name, slug),
    description: request.description,
    integrationId: integration.id,
    ownerId,
    rules: await rulesOf(deps, scope, request.configurations as JsonObject | undefined),
  });
}

/** @throws GatewayError validation_failed. */
export async function changedServerBody(
  deps: McpDeps,
  { organisationId, workspaceId, slug = '', body }: Served,
  { name, description, configurations, clear }: UpdateMcpServerRequest,
): Promise<McpServerBody> {
  const given = [name, description, configurations];
  if (given.every((one) => one === undefined) && clear.length === 0)
    throw invalidField('name', 'or another member is needed: there is nothing to change', 'required');
  const fields = patch(clear, ['description', 'configurations']);
  const rules = await rulesOf(
    deps,
    { organisationId, workspaceId },
    configurations as JsonObject | undefined,
  );
  const replaced = configurations !== undefined || fields.cleared('configurations');
  return defined<McpServerBody>({
    ...body,
    name: fields.always('name', name, body.name),
    searchText: searchTextOf(name ?? body.name, slug),
    description: fields.optional('description', description, body.description),
    rules: replaced ? rules : body.rules,
  });
}

async function rulesOf({ documents }: McpDeps, scope: TenantScope, given: JsonObject | undefined) {
  if (given === undefined) return undefined;
  const other = Object.keys(given).find((name) => !RULE_MEMBERS.has(name));
  if (other !== undefined)
    throw fail(
      'validation_failed',
      `configurations.${other.slice(0, 64)}: is unknown: there are ${[...RULE_MEMBERS].join(', ')}`,
      {
        param: `configurations.${other.slice(0, 64)}`,
      },
    );
  return readRules(documents, scope, given);
}
