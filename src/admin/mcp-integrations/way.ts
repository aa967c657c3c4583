// The way to an integration's server for the control plane's own readings: with the integration's credentials, or with
// the caller's own connection where each user signs in.
import type { McpIntegrationBody } from '../../access/mcp/mcp-collections.ts';
import { upstreamSecrets } from '../../access/mcp/upstream-headers.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { withSecrets } from '../../secrets/mappings.ts';
import { isAllowedHost } from '../../secrets/references.ts';
import type { Document } from '../../store/documents.ts';
import type { McpDeps } from './deps.ts';
import type { ServerWay } from './read-server.ts';

/**
 * @param serverId the server whose connection counts; undefined: any of the integration's
 * @throws GatewayError validation_failed for a REST API, forbidden for secrets that may not go there, secret_unavailable
 */
export async function wayTo(
  deps: McpDeps,
  caller: Principal,
  integration: Document<McpIntegrationBody>,
  serverId?: string,
): Promise<ServerWay> {
  const { url, transport, authType } = integration.body;
  if (transport === 'openapi')
    throw fail('conflict', 'a REST API has no MCP server: give its OpenAPI document');
  if (transport === 'stdio') {
    const owner = `reading ${caller.keyId}`;
    // The address is one for the library alone.
    return {
      url: 'http://localhost/',
      transport: 'http',
      headers: {},
      program: deps.programs.fetchOf(url, owner),
    };
  }
  checkHosts(deps, integration);
  const { customHeaders = {} } = await upstreamSecrets(
    integration,
    integration.workspaceId ?? caller.workspaceId,
    (fields, mappings, tenant) => withSecrets(fields, mappings, tenant, deps.secrets.resolve),
  );
  const token =
    authType === 'oauth_client_credentials'
      ? await deps.clientTokens.bearer(integration)
      : authType === 'oauth_auto'
        ? await tokenOf(deps, caller, integration, serverId)
        : undefined;
  const headers = { ...customHeaders, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) };
  return { url, transport, headers };
}

/** The caller's own token; undefined where it has none. */
async function tokenOf(
  { mcp, userTokens }: McpDeps,
  { organisationId, userId }: Principal,
  { id }: Document<McpIntegrationBody>,
  serverId: string | undefined,
): Promise<string | undefined> {
  if (userId === undefined) return undefined;
  const servers = serverId === undefined ? mcp.serversWith(organisationId, id) : [serverId];
  for (const server of servers) {
    const token = await userTokens.bearer(organisationId, server, userId);
    if (token !== undefined) return token;
  }
  return undefined;
}

/** A reference that names hosts decides where its value goes. @throws GatewayError forbidden. */
function checkHosts(
  { secrets }: McpDeps,
  { organisationId, workspaceId, body }: Document<McpIntegrationBody>,
): void {
  for (const { secretReferenceId } of body.secretMappings ?? []) {
    const hosts = secrets.hostsOf(organisationId, workspaceId, secretReferenceId);
    if (hosts === undefined || isAllowedHost(hosts, new URL(body.url).origin)) continue;
    throw fail('forbidden', 'the secret reference is not bound to the host of the server', {
      param: 'secret_mappings',
    });
  }
}
