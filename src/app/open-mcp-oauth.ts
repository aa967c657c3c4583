// The gateway as a client of upstreams' authorization servers: users' connections, and tokens of its own.

import type { McpIntegrationBody } from '../access/mcp/mcp-collections.ts';
import { upstreamSecrets } from '../access/mcp/upstream-headers.ts';
import { ClientTokens } from '../access/mcp-oauth/client-tokens.ts';
import { Connect } from '../access/mcp-oauth/connect.ts';
import { UserTokens } from '../access/mcp-oauth/user-tokens.ts';
import { withSecrets } from '../secrets/mappings.ts';
import type { Document } from '../store/documents.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';
import type { OpenPipeline } from './open-pipeline.ts';
import type { Replicas } from './open-replicas.ts';

export type McpOauth = ReturnType<typeof openMcpOauth>;

export function openMcpOauth(
  { log, stores: { documents, hashSecret } }: Base,
  { dialer, directory, auditLog: { systemChanges } }: Identity,
  { mcp: replica }: Pick<Replicas, 'mcp'>,
  { secrets }: Pick<OpenPipeline, 'secrets'>,
) {
  const now = Date.now;
  const onTrouble = (error: unknown): void =>
    log.warn({ err: error }, 'an authorization server of an MCP server gave no token');
  const clientSecret = async (integration: Document<McpIntegrationBody>): Promise<string | undefined> => {
    const fill: Parameters<typeof upstreamSecrets>[2] = (fields, mappings, tenant) =>
      withSecrets(fields, mappings, tenant, secrets.resolve);
    return (await upstreamSecrets(integration, integration.workspaceId, fill)).clientSecret;
  };
  const deps = { documents, dialer, replica, clientSecret, now, onTrouble };
  return {
    users: new UserTokens(deps),
    clients: new ClientTokens(deps),
    connect: new Connect({ ...deps, directory, systemChanges, secret: hashSecret }),
  };
}
