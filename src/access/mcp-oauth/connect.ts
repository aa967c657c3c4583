// A user connects to an upstream: the browser goes to the upstream's authorization server and comes back with a code.
// Between the two the browser keeps a sealed cookie; it counts for the session that began, once.
import { randomBytes, randomUUID } from 'node:crypto';
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { fail, GatewayError } from '../../lib/errors.ts';
import { SealedText } from '../../lib/sealed-text.ts';
import {
  type Document,
  insertOperation,
  updateOperation,
  type WriteOperation,
} from '../../store/documents.ts';
import type { SystemChanges } from '../audit/system-changes.ts';
import type { Directory } from '../directory.ts';
import { type McpConnectionBody, type McpConnectionOauth, mcpConnections } from '../mcp/mcp-collections.ts';
import type { McpReplica } from '../mcp/mcp-replica.ts';
import type { McpServer } from '../mcp/mcp-server.ts';
import type { SessionBody } from '../sessions/session-collection.ts';
import { discover } from './auth-server.ts';
import { oauthFetch } from './oauth-fetch.ts';
import {
  CALLBACK_PATH,
  type ClientInformation,
  clientFor,
  forgetClient,
  type UpstreamClientDeps,
} from './upstream-client.ts';
import { tokenParts } from './user-tokens.ts';

export interface ConnectDeps extends UpstreamClientDeps {
  readonly dialer: Pick<Dialer, 'stream'>;
  readonly replica: Pick<McpReplica, 'server' | 'connectionOf' | 'connectionChanged'>;
  readonly directory: Directory;
  readonly systemChanges: SystemChanges;
  /** 32 bytes, the same for all instances. */
  readonly secret: Uint8Array;
  readonly onTrouble: (error: unknown) => void;
}

type Session = Document<SessionBody>;

/** What the browser keeps. */
interface Transaction {
  readonly state: string;
  readonly sessionId: string;
  readonly serverId: string;
  readonly verifier: string;
  readonly client: ClientInformation;
  readonly redirectUri: string;
  readonly oauth: McpConnectionOauth;
  readonly issSupported: boolean;
  readonly url: string;
  readonly expiresAt: number;
}

/** Between the beginning and the end, in milliseconds. */
export const CONNECT_MS = 600_000;
const MOST_COOKIE = 3800;
const MOST_SCOPE = 1000;

export class Connect {
  readonly #deps: ConnectDeps;
  readonly #seal: SealedText<Transaction>;

  constructor(deps: ConnectDeps) {
    this.#deps = deps;
    this.#seal = new SealedText(deps.secret, 'mcp connect');
  }

  /**
   * The server that the user of a session may connect to, and whether it is connected.
   * @throws GatewayError forbidden, not_found, conflict
   */
  server(
    { organisationId, body: { userId } }: Session,
    slug: string,
  ): { readonly server: McpServer; readonly isConnected: boolean } {
    const { replica, directory } = this.#deps;
    if (userId === undefined)
      throw fail('forbidden', 'connections are those of users: sign in as a user, or with a key of one');
    const server = replica.server(organisationId, slug);
    const isOwn =
      server !== undefined && directory.roleIn(organisationId, server.workspaceId, userId) !== undefined;
    if (!isOwn || server.slug !== slug || !server.isUsable || !server.allowsUser(userId))
      throw fail('not_found', 'there is no such MCP server that you may use');
    if (server.integration.body.authType !== 'oauth_auto')
      throw fail('conflict', 'users do not sign in at this MCP server');
    const found = replica.connectionOf(organisationId, server.id, userId);
    return { server, isConnected: found !== undefined && found.body.isStale !== true };
  }

  /**
   * Where the browser goes, and what it keeps.
   * @param more a scope that the server asked for in addition
   * @throws GatewayError in words for the person
   */
  async begin(
    session: Session,
    slug: string,
    base: string,
    more: string | undefined,
  ): Promise<{ readonly location: string; readonly cookie: string; readonly state: string }> {
    const { server } = this.server(session, slug);
    const { integration } = server;
    const library = await import('@modelcontextprotocol/client');
    const outside = oauthFetch(this.#deps.dialer);
    const found = await discover(integration.body, outside);
    const client = await clientFor(this.#deps, integration, found, base, outside);
    const state = randomBytes(24).toString('base64url');
    const redirectUri = base + CALLBACK_PATH;
    const scope = library.computeScopeUnion(found.scope, more?.slice(0, MOST_SCOPE));
    const { authorizationUrl, codeVerifier } = await library.startAuthorization(found.url, {
      ...(found.metadata === undefined ? {} : { metadata: found.metadata }),
      clientInformation: client as never,
      redirectUrl: redirectUri,
      ...(scope === undefined ? {} : { scope }),
      state,
      resource: found.resource,
    });
    const cookie = this.#seal.seal({
      state,
      sessionId: session.id,
      serverId: server.id,
      verifier: codeVerifier,
      client,
      redirectUri,
      oauth: oauthOf(found.url, found.issuer, found.metadata, found.resource, client),
      issSupported: found.metadata?.authorization_response_iss_parameter_supported === true,
      url: integration.body.url,
      expiresAt: this.#deps.now() + CONNECT_MS,
    });
    if (cookie.length > MOST_COOKIE)
      throw fail(
        'upstream_garbage',
        'the authorization server gives a client id or addresses that are too long',
      );
    return { location: authorizationUrl.href, cookie, state };
  }

  /**
   * The browser is back.
   * @throws GatewayError unauthenticated for an answer that this session did not ask for, or of another issuer;
   *   forbidden where the person did not allow it; upstream_*
   */
  async finish(
    session: Session,
    query: URLSearchParams,
    cookie: string | undefined,
    address: string,
  ): Promise<McpServer> {
    const transaction = this.#seal.open(cookie ?? '');
    const state = query.getAll('state');
    const isOwn =
      transaction !== undefined &&
      state.length === 1 &&
      transaction.state === state[0] &&
      transaction.sessionId === session.id &&
      transaction.expiresAt > this.#deps.now();
    if (!isOwn) throw notBegun();
    const { replica } = this.#deps;
    const meant = replica.server(session.organisationId, transaction.serverId);
    if (meant === undefined) throw notBegun();
    const { server } = this.server(session, meant.slug);
    if (server.integration.body.url !== transaction.url) throw notBegun();
    const iss = query.get('iss') ?? undefined;
    const { oauth } = transaction;
    if (iss === undefined ? transaction.issSupported : iss !== oauth.issuer)
      throw fail('unauthenticated', 'the answer comes from another authorization server: begin again');
    const code = query.getAll('code');
    if (query.has('error') || code.length !== 1 || code[0] === '')
      throw fail('forbidden', 'the authorization server refused the connection: begin again');
    const tokens = await this.#exchanged(server, transaction, code[0] ?? '', iss);
    await this.#keep(session, server, transaction, tokens, address);
    return server;
  }

  async #exchanged(server: McpServer, transaction: Transaction, code: string, iss: string | undefined) {
    const { oauth, client, verifier, redirectUri } = transaction;
    const library = await import('@modelcontextprotocol/client');
    const outside = oauthFetch(this.#deps.dialer);
    try {
      return await library.exchangeAuthorization(oauth.url, {
        metadata: {
          issuer: oauth.issuer,
          authorization_endpoint: oauth.tokenEndpoint,
          token_endpoint: oauth.tokenEndpoint,
          response_types_supported: ['code'],
          ...(oauth.authMethods === undefined
            ? {}
            : { token_endpoint_auth_methods_supported: [...oauth.authMethods] }),
        } as AuthorizationServerMetadata,
        clientInformation: client as never,
        authorizationCode: code,
        ...(iss === undefined ? {} : { iss }),
        codeVerifier: verifier,
        redirectUri,
        resource: oauth.resource,
        fetchFn: outside.fetch,
      });
    } catch (error) {
      this.#deps.onTrouble(error);
      const failure = error instanceof GatewayError ? error : outside.failures.at(-1);
      if (failure !== undefined) throw failure;
      if ((error as { readonly code?: unknown }).code === 'invalid_client')
        await forgetClient(this.#deps, server.integration, oauth.issuer);
      throw fail('upstream_status', 'the authorization server gives no token: begin again', { cause: error });
    }
  }

  async #keep(
    session: Session,
    server: McpServer,
    { client, oauth, url }: Transaction,
    given: Parameters<typeof tokenParts>[0],
    address: string,
  ): Promise<void> {
    const { documents, systemChanges, now, replica, directory } = this.#deps;
    const { organisationId, body } = session;
    const userId = body.userId ?? '';
    const at = now();
    const { tokens, ...rest } = tokenParts(given, {}, at);
    const secret =
      server.integration.body.oauth?.clientId === client.client_id ? undefined : client.client_secret;
    const connection: McpConnectionBody = withoutUndefined({
      serverId: server.id,
      userId,
      tokens: { ...tokens, ...(secret === undefined ? {} : { clientSecret: secret }) },
      ...rest,
      clientId: client.client_id,
      oauth,
      url,
    });
    const scope = { organisationId, workspaceId: undefined };
    const email = directory.user(organisationId, userId)?.body.email ?? '';
    for (let attempt = 0; ; attempt++) {
      const page = await documents.page(scope, mcpConnections, {
        filter: [
          { field: 'serverId', op: 'eq', value: server.id },
          { field: 'userId', op: 'eq', value: userId },
        ],
        pageSize: 1,
      });
      const before = page.documents[0];
      const operation: WriteOperation =
        before === undefined
          ? insertOperation(mcpConnections, {
              id: randomUUID(),
              workspaceId: server.workspaceId,
              createdAt: at,
              body: connection,
            })
          : updateOperation(mcpConnections, before.id, before.version, { body: connection, updatedAt: at });
      try {
        const [written] = await systemChanges.commit(
          {
            verb: 'update',
            resource: 'mcp-connection',
            by: {
              actor: {
                type: 'user',
                id: userId,
                name: email,
                keyId: body.keyId ?? session.id,
                role: body.role ?? '',
              },
              protocol: 'oauth',
              clientIp: address,
            },
          },
          scope,
          [operation],
          { id: server.id, name: server.name, workspaceId: server.workspaceId, after: { user_id: userId } },
        );
        replica.connectionChanged(written as Document<McpConnectionBody>);
        return;
      } catch (error) {
        const isLost =
          error instanceof GatewayError &&
          ['conflict', 'version_conflict', 'not_found'].includes(error.reason);
        if (!isLost || attempt === 4) throw error;
      }
    }
  }
}

function oauthOf(
  url: string,
  issuer: string,
  metadata: AuthorizationServerMetadata | undefined,
  resource: string,
  { token_endpoint_auth_method: authMethod }: ClientInformation,
): McpConnectionOauth {
  const methods = metadata?.token_endpoint_auth_methods_supported;
  const revocation = (metadata as { readonly revocation_endpoint?: string } | undefined)?.revocation_endpoint;
  return {
    url,
    issuer,
    tokenEndpoint: String(metadata?.token_endpoint ?? new URL('/token', url)),
    resource,
    ...(methods === undefined ? {} : { authMethods: methods.slice(0, 8) }),
    ...(authMethod === undefined ? {} : { authMethod }),
    ...(revocation === undefined ? {} : { revocationEndpoint: String(revocation) }),
  };
}

function withoutUndefined<T extends object>(value: T): T {
  return Object.fromEntries(Object.entries(value).filter(([, one]) => one !== undefined)) as T;
}

function notBegun(): GatewayError {
  return fail('unauthenticated', 'this sign-in was not begun here, or takes too long: begin again');
}
