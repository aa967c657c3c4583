// The tokens of users at upstreams: given to their own calls alone, and renewed before they expire, by one instance at a
// time. The lease is in the connection's own document, so that it holds wherever documents are.
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { type Document, type DocumentStore, updateOperation } from '../../store/documents.ts';
import {
  type McpConnectionBody,
  type McpConnectionOauth,
  type McpIntegrationBody,
  mcpConnections,
} from '../mcp/mcp-collections.ts';
import type { McpReplica } from '../mcp/mcp-replica.ts';
import { oauthFetch, STEP_MS } from './oauth-fetch.ts';
import type { ClientInformation } from './upstream-client.ts';

export type Connection = Document<McpConnectionBody>;

export interface UserTokensDeps {
  readonly documents: Pick<DocumentStore, 'get' | 'commit'>;
  readonly dialer: Pick<Dialer, 'stream'>;
  readonly replica: Pick<McpReplica, 'connectionOf' | 'integration' | 'server' | 'connectionChanged'>;
  /** The integration's client secret, secret references filled in. */
  readonly clientSecret: (integration: Document<McpIntegrationBody>) => Promise<string | undefined>;
  readonly now: () => number;
  readonly onTrouble: (error: unknown) => void;
}

/** Renewed so long before they expire, in milliseconds. */
const EARLY_MS = 30_000;
const LEASE_MS = 2 * STEP_MS;
/** Longest wait for another instance's renewal. */
const WAIT_MS = LEASE_MS + 5000;
const LOOK_MS = 100;
/** A token that is refused so soon after its renewal is not renewed again: the server takes none of them. */
const AT_MOST_EVERY_MS = 10_000;
/** Errors by which an authorization server says that a refresh token will never do. */
const FINAL = new Set([
  ...['invalid_grant', 'invalid_client', 'unauthorized_client', 'invalid_scope', 'invalid_target'],
  ...['unsupported_grant_type', 'invalid_request'],
]);

export class UserTokens {
  readonly #deps: UserTokensDeps;
  readonly #renewals = new Map<string, Promise<Connection | undefined>>();
  readonly #owner = randomUUID();

  constructor(deps: UserTokensDeps) {
    this.#deps = deps;
  }

  /** The connection of a user that counts at the server as it is now; undefined: the user has to connect. */
  connectionOf(organisationId: string, serverId: string, userId: string): Connection | undefined {
    const found = this.#deps.replica.connectionOf(organisationId, serverId, userId);
    if (found === undefined || found.body.isStale) return undefined;
    const url = this.#deps.replica.server(organisationId, serverId)?.integration.body.url;
    // Tokens of one server are not sent to another that took its place.
    return found.body.url === undefined || found.body.url === url ? found : undefined;
  }

  /** A token that counts, at once or after its renewal; undefined: the user has to connect. */
  bearer(
    organisationId: string,
    serverId: string,
    userId: string,
  ): string | undefined | Promise<string | undefined> {
    const found = this.connectionOf(organisationId, serverId, userId);
    if (found === undefined || !this.#isExpiring(found.body)) return found?.body.tokens.accessToken;
    return this.renewed(found, undefined).then((now) => now?.body.tokens.accessToken);
  }

  /**
   * The connection with another token than the one that was refused; undefined: the user has to connect again.
   * @throws GatewayError where the authorization server cannot be asked now and the old token does not count any more
   */
  renewed(connection: Connection, refused: string | undefined): Promise<Connection | undefined> {
    const key = `${connection.id} ${refused ?? ''}`;
    const running = this.#renewals.get(key);
    if (running !== undefined) return running;
    const renewal = this.#renew(connection, refused).finally(() => this.#renewals.delete(key));
    this.#renewals.set(key, renewal);
    return renewal;
  }

  #isExpiring({ expiresAt }: McpConnectionBody): boolean {
    return expiresAt !== undefined && expiresAt - this.#deps.now() < EARLY_MS;
  }

  async #renew(
    { organisationId, id }: Connection,
    refused: string | undefined,
  ): Promise<Connection | undefined> {
    const { documents, now } = this.#deps;
    const scope = { organisationId, workspaceId: undefined };
    const end = performance.now() + WAIT_MS;
    while (performance.now() < end) {
      const found = await documents.get(scope, mcpConnections, id);
      if (found === undefined || found.body.isStale) return undefined;
      const { body } = found;
      const isOther = body.tokens.accessToken !== refused;
      if (isOther && !this.#isExpiring(body)) return found;
      if (!isOther && (body.renewedAt ?? 0) > now() - AT_MOST_EVERY_MS) return undefined;
      if (body.tokens.refreshToken === undefined || body.oauth === undefined) {
        const counts = isOther && (body.expiresAt ?? 0) > now();
        return counts ? found : this.#stale(found);
      }
      const held = body.lease !== undefined && body.lease.until > now() && body.lease.owner !== this.#owner;
      const leased = held ? undefined : await this.#write(found, { ...body, lease: this.#lease() });
      if (leased !== undefined) return this.#refresh(leased, body.oauth, refused);
      await sleep(LOOK_MS);
    }
    throw fail(
      'upstream_timeout',
      'the MCP server cannot be called now: the renewal of its authorization takes too long',
    );
  }

  #lease() {
    return { owner: this.#owner, until: this.#deps.now() + LEASE_MS };
  }

  /** @param leased by this instance */
  async #refresh(
    leased: Connection,
    oauth: McpConnectionOauth,
    refused: string | undefined,
  ): Promise<Connection | undefined> {
    const { lease: _, ...body } = leased.body;
    const { now, onTrouble } = this.#deps;
    try {
      const client = await import('@modelcontextprotocol/client');
      const outside = oauthFetch(this.#deps.dialer, STEP_MS);
      const tokens = await client.refreshAuthorization(oauth.url, {
        metadata: metadataOf(oauth),
        clientInformation: (await this.clientOf(leased)) as never,
        refreshToken: body.tokens.refreshToken ?? '',
        resource: oauth.resource,
        fetchFn: outside.fetch,
      });
      const kept = { ...body, ...tokenParts(tokens, body, now()), renewedAt: now() };
      const written = await this.#write(leased, kept);
      return written ?? (await this.#again(leased));
    } catch (error) {
      const code = (error as { readonly code?: unknown } | undefined)?.code;
      if (typeof code === 'string' && FINAL.has(code)) return this.#stale(leased);
      onTrouble(error);
      await this.#write(leased, body);
      const counts = body.tokens.accessToken !== refused && (body.expiresAt ?? 0) > now();
      if (counts) return leased;
      throw fail(
        'upstream_unreachable',
        'the MCP server cannot be called now: its authorization cannot be renewed, try again later',
        {
          cause: error,
        },
      );
    }
  }

  /** The client that a connection's tokens are bound to. */
  async clientOf({ organisationId, body }: Connection): Promise<ClientInformation> {
    const { clientId = '', tokens, oauth } = body;
    const method = oauth?.authMethod === undefined ? {} : { token_endpoint_auth_method: oauth.authMethod };
    if (tokens.clientSecret !== undefined)
      return { client_id: clientId, client_secret: tokens.clientSecret, ...method };
    const server = this.#deps.replica.server(organisationId, body.serverId);
    const integration = server?.integration;
    if (integration?.body.oauth?.clientId !== clientId) return { client_id: clientId, ...method };
    const secret = await this.#deps.clientSecret(integration);
    return { client_id: clientId, ...(secret === undefined ? {} : { client_secret: secret }), ...method };
  }

  /** Tells the authorization server that the tokens count no more (RFC 7009). A server that does not answer is left. */
  async revoke(connection: Connection): Promise<void> {
    const { oauth, tokens } = connection.body;
    if (oauth?.revocationEndpoint === undefined) return;
    try {
      const { client_id: id, client_secret: secret } = await this.clientOf(connection);
      const form = new URLSearchParams({ token: tokens.refreshToken ?? tokens.accessToken });
      const headers: Record<string, string> = { 'content-type': 'application/x-www-form-urlencoded' };
      if (secret !== undefined && oauth.authMethod !== 'client_secret_post')
        headers.authorization = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
      else {
        form.set('client_id', id);
        if (secret !== undefined) form.set('client_secret', secret);
      }
      const outside = oauthFetch(this.#deps.dialer, STEP_MS);
      const answer = await outside.fetch(oauth.revocationEndpoint, { method: 'POST', headers, body: form });
      await answer.body?.cancel();
    } catch (error) {
      this.#deps.onTrouble(error);
    }
  }

  async #stale(connection: Connection): Promise<undefined> {
    const { lease: _, ...body } = connection.body;
    await this.#write(connection, { ...body, isStale: true });
    return undefined;
  }

  async #again({ organisationId, id }: Connection): Promise<Connection | undefined> {
    const found = await this.#deps.documents.get(
      { organisationId, workspaceId: undefined },
      mcpConnections,
      id,
    );
    return found?.body.isStale ? undefined : found;
  }

  /** Undefined when another write came first. */
  async #write(
    { organisationId, id, version }: Connection,
    body: McpConnectionBody,
  ): Promise<Connection | undefined> {
    const { documents, now, replica } = this.#deps;
    const write = updateOperation(mcpConnections, id, version, { body, updatedAt: now() });
    try {
      const [written] = await documents.commit({ organisationId, workspaceId: undefined }, [write]);
      replica.connectionChanged(written as Connection);
      return written as Connection;
    } catch (error) {
      const isLost =
        error instanceof GatewayError &&
        (error.reason === 'version_conflict' || error.reason === 'not_found');
      if (isLost) return undefined;
      throw error;
    }
  }
}

/** What of an answer of a token endpoint is kept. @throws GatewayError upstream_garbage */
export function tokenParts(
  given: {
    readonly access_token: string;
    readonly refresh_token?: string | undefined;
    readonly expires_in?: number | undefined;
    readonly scope?: string | undefined;
  },
  before: Partial<McpConnectionBody>,
  now: number,
): Pick<McpConnectionBody, 'tokens' | 'expiresAt' | 'scope'> {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, scope } = given;
  for (const token of [accessToken, refreshToken])
    if (token !== undefined && !/^[\x21-\x7e]{1,16384}$/.test(token))
      throw fail('upstream_garbage', 'the authorization server gives a token that cannot be sent');
  const kept = before.tokens?.clientSecret;
  const lasts =
    seconds !== undefined && Number.isFinite(seconds) && seconds >= 0
      ? Math.min(seconds, 31_536_000)
      : undefined;
  return {
    tokens: {
      accessToken,
      ...(refreshToken === undefined ? {} : { refreshToken }),
      ...(kept === undefined ? {} : { clientSecret: kept }),
    },
    ...(lasts === undefined
      ? { expiresAt: undefined as never }
      : { expiresAt: now + Math.floor(lasts * 1000) }),
    ...(scope === undefined ? {} : { scope: scope.slice(0, 2048) }),
  };
}

/** What the official client's functions read of an authorization server. */
export function metadataOf({
  issuer,
  tokenEndpoint,
  authMethods,
}: McpConnectionOauth): AuthorizationServerMetadata {
  return {
    issuer,
    token_endpoint: tokenEndpoint,
    authorization_endpoint: tokenEndpoint,
    response_types_supported: ['code'],
    ...(authMethods === undefined ? {} : { token_endpoint_auth_methods_supported: [...authMethods] }),
  } as AuthorizationServerMetadata;
}
