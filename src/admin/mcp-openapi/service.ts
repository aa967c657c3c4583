// The OpenAPI documents of MCP integrations with the transport `openapi`: stored, and chosen operations made tools.
import { create } from '@bufbuild/protobuf';
import {
  type GetMcpIntegrationOpenApiRequest,
  McpIntegrationOpenApiSchema,
  McpOpenApiOperationSchema,
  type UpdateMcpIntegrationOpenApiRequest,
  UpdateMcpIntegrationOpenApiResponseSchema,
} from '../../../gen/gateway/admin/v2/mcp_integrations_pb.ts';
import { type McpOpenApiBody, mcpOpenApi } from '../../access/mcp/mcp-collections.ts';
import type { Call } from '../../call/call.ts';
import { dialedFetch } from '../../lib/egress/dialed-fetch.ts';
import { fail, GatewayError, invalidField } from '../../lib/errors.ts';
import type { JsonObject } from '../../store/collection.ts';
import { insertOperation, updateOperation } from '../../store/documents.ts';
import { callerOf, organisationOf } from '../kit/caller.ts';
import { defined } from '../kit/patch.ts';
import { timeText } from '../kit/time.ts';
import { findMcpIntegration } from '../mcp-integrations/access.ts';
import { synced } from '../mcp-integrations/catalogue.ts';
import { checkAddress } from '../mcp-integrations/configurations.ts';
import type { McpDeps } from '../mcp-integrations/deps.ts';
import { mcpIntegrationMethods } from '../mcp-integrations/service.ts';
import { keep } from '../mcp-integrations/sync.ts';
import { compileInWorker } from './compile.ts';

const MOST_BYTES = 2 * 1024 * 1024;
const STEP_MS = 10_000;

/** The methods of McpIntegrationsService. */
export function mcpIntegrationsService(deps: McpDeps) {
  return { ...mcpIntegrationMethods(deps), ...mcpOpenApiMethods(deps) };
}

/** Those that are about documents. */
function mcpOpenApiMethods(deps: McpDeps) {
  const { documents, now } = deps;
  return {
    async getMcpIntegrationOpenApi(request: GetMcpIntegrationOpenApiRequest, call: Call) {
      const caller = callerOf(call);
      const integration = await findMcpIntegration(deps, caller, request.id, 'read');
      const stored = await documents.get(organisationOf(caller), mcpOpenApi, integration.id);
      if (stored === undefined)
        throw fail('not_found', 'there is no OpenAPI document of this MCP integration');
      const { title, version, source, document, tools, operations } = stored.body;
      return create(McpIntegrationOpenApiSchema, {
        title,
        version,
        ...(source === undefined ? {} : { source }),
        operations: operations.map((one) => {
          const tool = tools.find(({ method, path }) => method === one.method && path === one.path);
          return create(McpOpenApiOperationSchema, {
            ...one,
            ...(tool === undefined ? {} : { tool: tool.name }),
          });
        }),
        document: document as Record<string, never>,
        lastUpdatedAt: timeText(stored.updatedAt),
        object: 'mcp-openapi',
      });
    },

    async updateMcpIntegrationOpenApi(request: UpdateMcpIntegrationOpenApiRequest, call: Call) {
      const caller = callerOf(call);
      const scope = organisationOf(caller);
      const integration = await findMcpIntegration(deps, caller, request.id, 'update');
      if (integration.body.transport !== 'openapi')
        throw invalidField('id', 'names an integration of another transport than openapi');
      const before = await documents.get(scope, mcpOpenApi, integration.id);
      const { document, source } = await documentOf(deps, request, before?.body);
      const none = request.operations.length === 0;
      const chosen =
        none && !request.clear.includes('operations')
          ? (before?.body.tools ?? []).map(({ method, path }) => `${method} ${path}`)
          : request.operations;
      const compiled = await compileInWorker(document, chosen);
      const { title, version, description, operations, tools, described } = compiled;
      const updatedAt = now();
      const body = defined<McpOpenApiBody>({
        integrationId: integration.id,
        source,
        title,
        version,
        document,
        operations,
        tools,
      });
      const place = integration.workspaceId === undefined ? {} : { workspaceId: integration.workspaceId };
      const operation =
        before === undefined
          ? insertOperation(mcpOpenApi, { id: integration.id, ...place, createdAt: updatedAt, body })
          : updateOperation(mcpOpenApi, before.id, before.version, { body, updatedAt });
      const info = { serverName: title, serverVersion: version, title, ...(description && { description }) };
      await keep(deps, call, integration, (known) => synced(known, info, described, updatedAt), [operation]);
      return create(UpdateMcpIntegrationOpenApiResponseSchema, {
        success: true,
        tools: tools.map(({ name }) => name),
      });
    },
  };
}

/** The document that is meant, and where it is from. @throws GatewayError validation_failed, host_refused. */
async function documentOf(
  deps: McpDeps,
  { document, source }: UpdateMcpIntegrationOpenApiRequest,
  before: McpOpenApiBody | undefined,
): Promise<{ readonly document: JsonObject; readonly source?: string | undefined }> {
  if (document !== undefined && source !== undefined)
    throw invalidField('source', 'must not be given with a document');
  if (source !== undefined) return { document: await fetched(deps, source), source };
  if (document !== undefined) {
    if (JSON.stringify(document).length > MOST_BYTES)
      throw invalidField('document', `must be ${MOST_BYTES} bytes of JSON at the most`);
    return { document: document as JsonObject };
  }
  if (before === undefined) throw invalidField('document', 'or source is required', 'required');
  return before;
}

async function fetched({ dialer }: McpDeps, source: string): Promise<JsonObject> {
  checkAddress((url, field) => dialer.check(url, field), source, 'source');
  const signal = AbortSignal.timeout(STEP_MS * 3);
  const options = { headTimeoutMs: STEP_MS, idleTimeoutMs: STEP_MS, maxBytes: MOST_BYTES, signal };
  try {
    const response = await dialedFetch(dialer, options)(source, { headers: { accept: 'application/json' } });
    if (response.status !== 200)
      throw invalidField('source', `answers with ${response.status}; redirects are not followed`);
    const read: unknown = await response.json();
    if (typeof read === 'object' && read !== null && !Array.isArray(read)) return read as JsonObject;
  } catch (error) {
    if (error instanceof GatewayError) {
      if (!error.reason.startsWith('upstream_')) throw error;
      throw invalidField('source', `cannot be read: ${error.message}`);
    }
  }
  throw invalidField('source', 'leads to no JSON object');
}
