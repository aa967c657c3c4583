// The stored records of the MCP gateway. The control plane writes them (connections: the data plane, too); calls read
// them through `McpReplica`.
import { type Collection, defineCollection, type Json, type JsonObject } from '../../store/collection.ts';
import { upstreamClients } from '../mcp-oauth/upstream-client-collection.ts';
import type { StoredMapping } from '../providers/provider-collections.ts';

/**
 * How a server is reached: streamable HTTP (either era), the older SSE, a REST API by its OpenAPI document, or a program
 * that the operator's settings name (its url is `stdio:<name>`).
 */
export type McpTransport = 'http' | 'sse' | 'openapi' | 'stdio';

/** How the gateway proves itself to a server. */
export type McpAuthType = 'none' | 'headers' | 'oauth_auto' | 'oauth_client_credentials';

export const CAPABILITY_TYPES = ['tool', 'prompt', 'resource', 'resource_template'] as const;
export type CapabilityType = (typeof CAPABILITY_TYPES)[number];

/** Whether a capability is offered. One without a switch is. */
export interface CapabilitySwitch {
  readonly type: CapabilityType;
  /** Of a resource: its name or its URI; of a template: its name or its URI template. */
  readonly name: string;
  readonly enabled: boolean;
  /** Unix milliseconds. */
  readonly updatedAt: number;
}

/** Ids or slugs of guardrails. */
export interface McpGuardrails {
  /** Over the arguments of tool calls. */
  readonly input?: readonly string[];
  /** Over the results of tool calls. */
  readonly output?: readonly string[];
}

/** What integrations and servers may both say of calls. A server adds to its integration's guardrails. */
export interface McpRules {
  readonly guardrails?: McpGuardrails & { readonly tools?: readonly ToolGuardrails[] };
  /** US dollars for a call. */
  readonly toolPrices?: readonly ToolPrice[];
}

export interface ToolGuardrails extends McpGuardrails {
  readonly tool: string;
}

export interface ToolPrice {
  /** `*`: every tool without a price of its own. */
  readonly tool: string;
  readonly price: number;
}

/** The OAuth client that the gateway is to a server. The client's secret is among the integration's secrets. */
export interface McpOauthClient {
  readonly clientId?: string;
  /** Absent: it is discovered. */
  readonly tokenEndpoint?: string;
  readonly authorizationEndpoint?: string;
  /** The only authorization server that is asked; absent: the one that the server names. */
  readonly issuer?: string;
  readonly scope?: string;
  /** How the gateway proves itself for a token of its own; absent: by its secret. */
  readonly authMethod?: 'private_key_jwt';
  readonly signingAlgorithm?: string;
}

/** Sealed at rest. */
export interface McpSecrets {
  readonly customHeaders?: Readonly<Record<string, string>>;
  readonly clientSecret?: string;
}

export interface McpAccess {
  readonly enabled: boolean;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** An upstream: an MCP server outside, and how it is reached. */
export interface McpIntegrationBody {
  readonly name: string;
  /** Name and slug in lower case: what lists search. */
  readonly searchText?: string;
  readonly description?: string;
  readonly level: 'organisation' | 'workspace';
  /** Id of the user or key that made it. */
  readonly ownerId: string;
  readonly url: string;
  readonly transport: McpTransport;
  readonly authType: McpAuthType;
  /** Lower case: headers of the caller that are sent on. */
  readonly passthroughHeaders?: readonly string[];
  readonly oauth?: McpOauthClient;
  readonly secrets?: McpSecrets;
  /** What is shown of the secrets: by header, and `client_secret`. */
  readonly headerMasks?: readonly HeaderMask[];
  readonly clientSecretMask?: string;
  /** Targets: `configurations.custom_headers`, `configurations.custom_headers.<name>`, `configurations.client_secret`. */
  readonly secretMappings?: readonly StoredMapping[];
  readonly rules?: McpRules;
  /** Whether a tool whose description changed is held back until it is accepted. */
  readonly holdChangedTools?: true;
  readonly switches?: readonly CapabilitySwitch[];
  /** By the workspace's id; for integrations of the organisation. */
  readonly workspaces?: Readonly<Record<string, McpAccess>>;
  /** Of workspaces that are not named. Absent: they have none. */
  readonly globalAccess?: { readonly enabled: boolean };
}

export interface HeaderMask {
  readonly name: string;
  readonly mask: string;
}

/** A capability as the upstream described it. */
export interface StoredCapability {
  readonly type: CapabilityType;
  readonly name: string;
  /** The upstream's own members but the name, e.g. title, description, icons, inputSchema, annotations, uri. */
  readonly described: JsonObject;
  /** Hash of everything that a model reads of it: see `capabilityHash`. */
  readonly hash: string;
  /** The hash that is accepted; differs from `hash` while a change waits. */
  readonly pinned: string;
  /** Unix milliseconds: when the description last changed after it was first seen. */
  readonly changedAt?: number;
  readonly createdAt: number;
  readonly updatedAt: number;
}

/** What a server says of itself. */
export interface McpServerInfo {
  readonly serverName?: string;
  readonly serverVersion?: string;
  readonly title?: string;
  readonly description?: string;
  readonly websiteUrl?: string;
  readonly icons?: readonly Json[];
  /** The newest one that it speaks, e.g. "2026-07-28". */
  readonly protocolVersion?: string;
  readonly capabilityFlags?: JsonObject;
  readonly instructions?: string;
}

export type SyncStatus = 'pending' | 'synced' | 'error';

/** What is known of an integration's server. Its id is the integration's; without one nothing was read yet. */
export interface McpCatalogueBody {
  readonly integrationId: string;
  readonly info: McpServerInfo;
  readonly syncStatus: SyncStatus;
  /** Unix milliseconds. */
  readonly lastSyncedAt?: number;
  /** Why the last reading failed, in words for callers. */
  readonly syncError?: string;
  readonly capabilities: readonly StoredCapability[];
  /** A caller has told of them: what the server lists does not replace it. */
  readonly isTold?: true;
  /** Pins of tools that the server had: one that comes back with another description has changed. */
  readonly gone?: readonly GonePin[];
}

/** The accepted description of a tool that its server does not have at present. */
export interface GonePin {
  readonly name: string;
  readonly pinned: string;
}

/** An upstream as a workspace offers it. */
export interface McpServerBody {
  readonly name: string;
  /** Name and slug in lower case: what lists search. */
  readonly searchText?: string;
  readonly description?: string;
  readonly integrationId: string;
  /** Id of the user or key that made it. */
  readonly ownerId: string;
  readonly rules?: McpRules;
  readonly switches?: readonly CapabilitySwitch[];
  /** Of users who are not named. Absent: allow. */
  readonly defaultUserAccess?: 'allow' | 'deny';
  readonly userAccess?: readonly UserAccess[];
}

export interface UserAccess {
  readonly userId: string;
  readonly enabled: boolean;
}

/** The tokens of a user at a server's upstream. Sealed at rest. */
export interface McpTokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Of a client that the gateway has registered. */
  readonly clientSecret?: string;
}

/** The authorization server that gave a connection's tokens, and what they are for. */
export interface McpConnectionOauth {
  /** Where its endpoints are, for servers without metadata. */
  readonly url: string;
  readonly issuer: string;
  readonly tokenEndpoint: string;
  readonly revocationEndpoint?: string;
  /** Ways of proving itself that it takes from clients. */
  readonly authMethods?: readonly string[];
  /** The one of the registered client. */
  readonly authMethod?: string;
  /** The resource indicator (RFC 8707). */
  readonly resource: string;
}

/** A user's connection to a server. Only that user's calls use it. */
export interface McpConnectionBody {
  readonly serverId: string;
  readonly userId: string;
  readonly tokens: McpTokens;
  /** Unix milliseconds; absent: unknown. */
  readonly expiresAt?: number;
  /** Of the access token, as the authorization server gave it. */
  readonly scope?: string;
  /** The client that the tokens are bound to, e.g. a registered one; absent: the integration's. */
  readonly clientId?: string;
  /** Absent: the tokens were given by the user, and cannot be renewed. */
  readonly oauth?: McpConnectionOauth;
  /** The address of the upstream that the tokens are for; they are sent to no other. */
  readonly url?: string;
  /** When they were last renewed, in Unix milliseconds. */
  readonly renewedAt?: number;
  /** Set while an instance renews them. */
  readonly lease?: { readonly owner: string; readonly until: number };
  /** The server did not take the token any more: the user connects again. */
  readonly isStale?: true;
}

/** Where an argument of a REST operation goes. */
export type ArgumentPlace = 'path' | 'query' | 'header' | 'cookie' | 'body';

/** An argument of a REST operation. */
export interface RestArgument {
  /** The member of the tool's arguments. */
  readonly argument: string;
  readonly place: ArgumentPlace;
  /** Its name on the wire. For a body: empty, the argument is the whole body. */
  readonly name: string;
  readonly required: boolean;
  /** OpenAPI's `explode`, for lists and objects in a query. */
  readonly explode: boolean;
}

/** A chosen operation of an OpenAPI document, published as a tool. */
export interface RestTool {
  /** The tool's name. */
  readonly name: string;
  readonly operationId?: string;
  readonly method: string;
  /** The path's template, relative to the integration's URL, e.g. "/pets/{petId}". */
  readonly path: string;
  readonly arguments: readonly RestArgument[];
  /** Of the body; absent: there is none. */
  readonly contentType?: string;
}

/** The OpenAPI document of an integration with the transport `openapi`. Its id is the integration's. */
export interface McpOpenApiBody {
  readonly integrationId: string;
  /** Where it was read from; absent: it was given. */
  readonly source?: string;
  readonly title: string;
  readonly version: string;
  /** As it was given or read. */
  readonly document: JsonObject;
  /** All of the document. */
  readonly operations: readonly {
    readonly id: string;
    readonly method: string;
    readonly path: string;
    readonly summary?: string;
  }[];
  /** In the order of the catalogue's capabilities. */
  readonly tools: readonly RestTool[];
}

export const mcpIntegrations: Collection<McpIntegrationBody> = defineCollection<McpIntegrationBody>({
  name: 'mcp_integrations',
  schemaVersion: 1,
  inWorkspace: { name: 'MCP integrations', blocks: true },
  noticed: true,
  fields: [
    { name: 'level', type: 'text' },
    { name: 'searchText', type: 'text', searched: true, nullable: true },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
  secret: ['secrets'],
});

export const mcpCatalogues: Collection<McpCatalogueBody> = defineCollection<McpCatalogueBody>({
  name: 'mcp_catalogues',
  schemaVersion: 1,
  noticed: true,
  fields: [{ name: 'integrationId', type: 'text' }],
  unique: [{ fields: ['integrationId'], per: 'organisation' }],
});

export const mcpServers: Collection<McpServerBody> = defineCollection<McpServerBody>({
  name: 'mcp_servers',
  schemaVersion: 1,
  inWorkspace: { name: 'MCP servers', blocks: true },
  noticed: true,
  fields: [
    { name: 'integrationId', type: 'text' },
    { name: 'searchText', type: 'text', searched: true, nullable: true },
  ],
  unique: [{ fields: ['slug'], per: 'organisation' }],
});

export const mcpConnections: Collection<McpConnectionBody> = defineCollection<McpConnectionBody>({
  name: 'mcp_connections',
  schemaVersion: 1,
  inWorkspace: { name: 'MCP connections', blocks: false },
  noticed: true,
  fields: [
    { name: 'serverId', type: 'text' },
    { name: 'userId', type: 'text' },
  ],
  unique: [{ fields: ['serverId', 'userId'], per: 'organisation' }],
  secret: ['tokens'],
});

export const mcpOpenApi: Collection<McpOpenApiBody> = defineCollection<McpOpenApiBody>({
  name: 'mcp_openapi',
  schemaVersion: 1,
  noticed: true,
  fields: [{ name: 'integrationId', type: 'text' }],
  unique: [{ fields: ['integrationId'], per: 'organisation' }],
});

/** In the order in which they are read. */
export const MCP_COLLECTIONS: readonly Collection<object>[] = [
  mcpIntegrations,
  mcpCatalogues,
  mcpOpenApi,
  mcpServers,
  mcpConnections,
  upstreamClients,
];

/** Slugs that are paths of the gateway's own: no MCP server has them, whatever the case of their letters. */
export const RESERVED_SLUGS: ReadonlySet<string> = new Set([
  ...['oauth', 'admin', 'docs', 'mcp', 'proxy', 'console', 'v1', 'v2', 'v1beta', 'exports', '.well-known'],
]);
