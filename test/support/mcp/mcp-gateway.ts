// A gateway with MCP servers in its store.
import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  type McpIntegrationBody,
  type McpServerBody,
  mcpIntegrations,
  mcpServers,
} from '../../../src/access/mcp/mcp-collections.ts';
import { openStores } from '../../../src/app/stores.ts';
import { readSettings } from '../../../src/settings.ts';
import { createLog } from '../../../src/telemetry/log.ts';
import { ADMIN_KEY, startGateway, type TestGateway, WORKSPACE_KEY } from '../gateway.ts';

/** A server by its slug. */
export interface StoredServer {
  readonly url: string;
  readonly integration?: Partial<McpIntegrationBody>;
  readonly server?: Partial<McpServerBody>;
}

/** Starts a gateway whose first workspace has these servers. */
export async function startMcpGateway(
  servers: Readonly<Record<string, StoredServer>>,
  env: Readonly<Record<string, string>> = {},
): Promise<TestGateway> {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-mcp-'));
  const own = { ...env, GATEWAY_DATA_DIR: dataDir, GATEWAY_DRAIN_SECONDS: '1' };
  const first = await startGateway(own);
  const { organisationId, workspaceId } = first.app.tenancy;
  await first.close();
  const settings = readSettings({ ...own, GATEWAY_ADMIN_API_KEY: ADMIN_KEY, GATEWAY_API_KEY: WORKSPACE_KEY });
  const stores = await openStores(settings, createLog('silent'));
  const now = Date.now();
  const place = { slug: undefined, createdAt: now, updatedAt: now };
  for (const [slug, { url, integration, server }] of Object.entries(servers)) {
    const id = randomUUID();
    const plain = { name: slug, level: 'organisation', ownerId: 'test', url, transport: 'http' } as const;
    const shared = { authType: 'none', globalAccess: { enabled: true } } as const;
    await stores.documents.insert({ organisationId, workspaceId: undefined }, mcpIntegrations, {
      ...place,
      id,
      slug: `upstream-${slug}`,
      body: { ...plain, ...shared, ...integration },
    });
    await stores.documents.insert({ organisationId, workspaceId }, mcpServers, {
      ...place,
      id: randomUUID(),
      slug,
      body: { name: slug, integrationId: id, ownerId: 'test', ...server },
    });
  }
  await stores.close();
  const gateway = await startGateway(own);
  return {
    ...gateway,
    async close() {
      await gateway.close();
      rmSync(dataDir, { recursive: true, force: true });
    },
  };
}
