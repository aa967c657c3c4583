// How the gateway proves itself to an upstream: by the integration's headers, by the tokens of the user's connection, or by
// a token of its own.
import type { McpServer } from '../../access/mcp/mcp-server.ts';
import type { ClientTokens } from '../../access/mcp-oauth/client-tokens.ts';
import type { UserTokens } from '../../access/mcp-oauth/user-tokens.ts';
import type { Principal } from '../../call/principal.ts';
import { fail } from '../../lib/errors.ts';
import { urlText } from '../../lib/url-text.ts';
import type { UpstreamAuth } from '../deps.ts';
import { ConnectionNeeded, CredentialsRenewed } from './connection-needed.ts';

export interface StoredAuthDeps {
  readonly users: Pick<UserTokens, 'bearer' | 'connectionOf' | 'renewed'>;
  readonly clients: Pick<ClientTokens, 'bearer' | 'refused'>;
  /** Where people reach the gateway. */
  readonly publicUrl: () => string;
}

export function storedAuth({ users, clients, publicUrl }: StoredAuthDeps): UpstreamAuth {
  const needed = (server: McpServer, { userId }: Principal, scope?: string): Error => {
    if (userId === undefined)
      return fail(
        'upstream_status',
        `the MCP server ${server.slug} asks for a user's own consent: a key of a user is needed`,
      );
    const more = scope === undefined ? '' : `?scope=${urlText(scope)}`;
    return new ConnectionNeeded(
      server.slug,
      `${publicUrl().replace(/\/+$/, '')}/oauth/connect/${server.slug}${more}`,
    );
  };
  const bearer = (
    server: McpServer,
    principal: Principal,
  ): string | undefined | Promise<string | undefined> => {
    const { userId } = principal;
    const { authType } = server.integration.body;
    if (authType === 'oauth_client_credentials') return clients.bearer(server.integration);
    return userId === undefined ? undefined : users.bearer(server.organisationId, server.id, userId);
  };
  const headers = (server: McpServer, principal: Principal, token: string | undefined): readonly string[] => {
    if (token === undefined) throw needed(server, principal);
    return ['authorization', `Bearer ${token}`];
  };
  return {
    headersFor(server, principal) {
      const { authType } = server.integration.body;
      if (authType !== 'oauth_auto' && authType !== 'oauth_client_credentials') return NONE;
      const token = bearer(server, principal);
      return token instanceof Promise
        ? token.then((made) => headers(server, principal, made))
        : headers(server, principal, token);
    },

    async refused(server, principal, { status, challenge, sent }) {
      const { authType } = server.integration.body;
      if (
        status === 401 &&
        authType === 'oauth_client_credentials' &&
        sent !== undefined &&
        clients.refused(server.integration, sent)
      )
        return new CredentialsRenewed();
      if (authType !== 'oauth_auto')
        return fail(
          'upstream_status',
          `the MCP server ${server.slug} did not accept the gateway's credentials`,
        );
      const scope = scopeOf(challenge);
      if (status === 403)
        return scope === undefined
          ? fail('upstream_status', `the MCP server ${server.slug} refuses this request to its user (403)`)
          : needed(server, principal, scope);
      const { userId } = principal;
      const connection =
        userId === undefined ? undefined : users.connectionOf(server.organisationId, server.id, userId);
      if (connection === undefined) return needed(server, principal);
      const now = await users.renewed(connection, sent);
      return now === undefined ? needed(server, principal) : new CredentialsRenewed();
    },
  };
}

const NONE: readonly string[] = [];

/** The scope that a challenge asks for (RFC 6750, part 3), where the token's is too narrow. */
function scopeOf(challenge: string | undefined): string | undefined {
  if (challenge === undefined || !/\berror="?insufficient_scope\b/.test(challenge)) return undefined;
  return /\bscope="([\x21\x23-\x5b\x5d-\x7e ]{1,1000})"/.exec(challenge)?.[1];
}
