// The MCP gateway's records in memory: every MCP call looks here, and makes no round trip. It follows the stores' change
// notices, so that a switch holds in open sessions within a second; `onChanged` tells of each change.
import type { Document } from '../../store/documents.ts';
import { Replica } from '../../store/replica.ts';
import { isShared } from './mcp-access.ts';
import {
  type McpConnectionBody,
  type McpIntegrationBody,
  mcpCatalogues,
  mcpConnections,
  mcpIntegrations,
  mcpOpenApi,
  mcpServers,
} from './mcp-collections.ts';
import { McpServer, type McpServerParts } from './mcp-server.ts';
import { SeenTools } from './seen-tools.ts';

/** What changed: servers to look at again, or a user's connection. */
export type McpChange =
  | { readonly kind: 'server'; readonly organisationId: string; readonly serverId: string }
  | { readonly kind: 'integration'; readonly organisationId: string; readonly integrationId: string }
  | {
      readonly kind: 'connection';
      readonly organisationId: string;
      readonly serverId: string;
      readonly userId: string;
      /** Undefined: it is gone. */
      readonly now: Document<McpConnectionBody> | undefined;
    };

/** Tools of an integration that were seen otherwise than they are stored. */
export interface SeenOf {
  readonly organisationId: string;
  readonly integrationId: string;
  readonly tools: SeenTools;
}

interface Made {
  readonly parts: McpServerParts;
  readonly server: McpServer;
}

export class McpReplica {
  readonly #listeners = new Set<(change: McpChange) => void>();
  readonly #made = new Map<string, Made>();
  /** By the integration's id. */
  readonly #seen = new Map<string, SeenTools>();
  readonly #seenListeners = new Set<(integration: SeenOf) => void>();
  readonly #integrations = new Replica(mcpIntegrations, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
    changed: (now, _before, { organisationId, id }) => {
      if (now === undefined) this.#seen.delete(id);
      this.#integrationChanged(organisationId, id);
    },
  });
  readonly #catalogues = new Replica(mcpCatalogues, {
    row: (document) => document,
    changed: (now, _before, { organisationId, id }) => {
      if (now !== undefined) this.#seen.get(id)?.stored(now.body.capabilities);
      this.#integrationChanged(organisationId, id);
    },
  });
  readonly #openApi = new Replica(mcpOpenApi, {
    row: (document) => document,
    changed: (_now, _before, { organisationId, id }) => this.#integrationChanged(organisationId, id),
  });
  readonly #servers = new Replica(mcpServers, {
    row: (document) => document,
    nameOf: ({ slug }) => slug,
    changed: (now, _before, { organisationId, id }) => {
      if (now === undefined) this.#made.delete(id);
      this.#tell({ kind: 'server', organisationId, serverId: id });
    },
  });
  readonly #connections = new Replica(mcpConnections, {
    row: (document) => document,
    nameOf: ({ body }) => `${body.serverId} ${body.userId}`,
    changed: (now, _before, { organisationId, body: { serverId, userId } }) =>
      this.#tell({ kind: 'connection', organisationId, serverId, userId, now }),
  });
  readonly replicas = [
    ...[this.#integrations, this.#catalogues, this.#openApi, this.#servers, this.#connections],
  ] as const;

  /** A server of an organisation by id or slug, of whichever workspace; undefined: there is none, or its integration is gone. */
  server(organisationId: string, idOrSlug: string): McpServer | undefined {
    const server = this.#servers.find(organisationId, idOrSlug);
    const integration = server && this.#integrations.get(organisationId, server.body.integrationId);
    if (server === undefined || integration === undefined) return undefined;
    const catalogue = this.#catalogues.get(organisationId, integration.id);
    const openApi = this.#openApi.get(organisationId, integration.id);
    const made = this.#made.get(server.id);
    const same =
      made?.parts.server === server &&
      made.parts.integration === integration &&
      made.parts.catalogue === catalogue &&
      made.parts.openApi === openApi;
    if (same) return made.server;
    const parts = {
      server,
      integration,
      catalogue,
      openApi,
      seen: this.#seenOf(organisationId, integration.id),
    };
    const now = new McpServer(parts);
    this.#made.set(server.id, { parts, server: now });
    return now;
  }

  /** A usable server of a workspace by slug: what a call may reach. Undefined: there is none for this workspace. */
  serverBySlug(organisationId: string, workspaceId: string, slug: string): McpServer | undefined {
    const found = this.server(organisationId, slug);
    return found?.slug === slug && found.workspaceId === workspaceId && found.isUsable ? found : undefined;
  }

  /** The usable servers of a workspace, in the order of their slugs. */
  serversOf(organisationId: string, workspaceId: string): McpServer[] {
    const own: McpServer[] = [];
    for (const { id, workspaceId: place } of this.#servers.of(organisationId).values()) {
      const server = place === workspaceId ? this.server(organisationId, id) : undefined;
      if (server?.isUsable) own.push(server);
    }
    return own.sort((a, b) => (a.slug < b.slug ? -1 : 1));
  }

  /** A user's connection to a server; undefined: the user has to connect. */
  connectionOf(
    organisationId: string,
    serverId: string,
    userId: string,
  ): Document<McpConnectionBody> | undefined {
    return this.#connections.named(organisationId, `${serverId} ${userId}`);
  }

  /** A connection that this process has just written. */
  connectionChanged(connection: Document<McpConnectionBody>): void {
    this.#connections.apply(connection);
  }

  /** All connections to a server. */
  connectionsOf(organisationId: string, serverId: string): Document<McpConnectionBody>[] {
    const all = [...this.#connections.of(organisationId).values()];
    return all.filter(({ body }) => body.serverId === serverId);
  }

  /** Ids of the servers of an integration, of all workspaces. */
  serversWith(organisationId: string, integrationId: string): string[] {
    const all = [...this.#servers.of(organisationId).values()];
    return all.filter(({ body }) => body.integrationId === integrationId).map(({ id }) => id);
  }

  integration(organisationId: string, idOrSlug: string): Document<McpIntegrationBody> | undefined {
    return this.#integrations.find(organisationId, idOrSlug);
  }

  /** What is known of an integration's server. */
  catalogue(organisationId: string, integrationId: string) {
    return this.#catalogues.get(organisationId, integrationId);
  }

  /** What a workspace sees of the organisation's integrations: its own, and those shared with it; newest first. */
  integrationsOf(organisationId: string, workspaceId: string): Document<McpIntegrationBody>[] {
    const all = [...this.#integrations.of(organisationId).values()];
    return all
      .filter((document) => isShared(document, workspaceId))
      .sort((a, b) => b.createdAt - a.createdAt || (a.id < b.id ? 1 : -1));
  }

  /** One thing of the organisation, in words, that has a value from a secret reference; undefined: none has. */
  userOfSecret(organisationId: string, referenceId: string): string | undefined {
    for (const { slug, body } of this.#integrations.of(organisationId).values())
      if (body.secretMappings?.some(({ secretReferenceId }) => secretReferenceId === referenceId))
        return `the MCP integration ${slug}`;
    return undefined;
  }

  /** Tells of every change once the replica has it. @returns what ends it */
  onChanged(listener: (change: McpChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells of tools that were seen otherwise than they are stored. @returns what ends it */
  onSeen(listener: (integration: SeenOf) => void): () => void {
    this.#seenListeners.add(listener);
    return () => this.#seenListeners.delete(listener);
  }

  #seenOf(organisationId: string, integrationId: string): SeenTools {
    const known = this.#seen.get(integrationId);
    if (known !== undefined) return known;
    const made = new SeenTools(() => {
      for (const listener of this.#seenListeners) listener({ organisationId, integrationId, tools: made });
    });
    this.#seen.set(integrationId, made);
    return made;
  }

  #integrationChanged(organisationId: string, integrationId: string): void {
    this.#tell({ kind: 'integration', organisationId, integrationId });
  }

  #tell(change: McpChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
