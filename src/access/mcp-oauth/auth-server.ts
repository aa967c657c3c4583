// The authorization server of an upstream: found by the metadata of the resource (RFC 9728) and its own (RFC 8414, OpenID
// Connect discovery), by the official client's functions. What the integration says itself comes first.
import type { AuthorizationServerMetadata } from '@modelcontextprotocol/client';
import { fail, GatewayError } from '../../lib/errors.ts';
import type { McpIntegrationBody } from '../mcp/mcp-collections.ts';
import type { OauthFetch } from './oauth-fetch.ts';

/** What is known of it. */
export interface AuthServer {
  /** Where its endpoints are, for servers without metadata. */
  readonly url: string;
  readonly issuer: string;
  readonly metadata: AuthorizationServerMetadata | undefined;
  /** The resource indicator (RFC 8707); undefined: the server has no metadata of its resource. */
  readonly resource: string;
  /** What the server asks for. */
  readonly scope: string | undefined;
}

/** Some servers initialise a session without credentials, so a list is requested first. */
const PROBES = [
  { jsonrpc: '2.0', id: 'probe', method: 'tools/list', params: {} },
  {
    jsonrpc: '2.0',
    id: 'probe',
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'sluice-gateway', version: '1' },
    },
  },
].map((message) => JSON.stringify(message));

/** @throws GatewayError upstream_* or host_refused, in words for the person who connects */
export async function discover(body: McpIntegrationBody, outside: OauthFetch): Promise<AuthServer> {
  const client = await import('@modelcontextprotocol/client');
  const { url, oauth = {} } = body;
  try {
    const challenge = await probe(body, outside, client.extractWWWAuthenticateParams);
    const found = await client.discoverOAuthServerInfo(url, {
      ...(challenge.resourceMetadataUrl === undefined
        ? {}
        : { resourceMetadataUrl: challenge.resourceMetadataUrl }),
      fetchFn: outside.fetch,
    });
    const { resourceMetadata, authorizationServerUrl } = found;
    const asked = client.resourceUrlFromServerUrl(url);
    const named = resourceMetadata?.resource;
    if (
      named !== undefined &&
      !client.checkResourceAllowed({ requestedResource: asked, configuredResource: named })
    )
      throw fail('upstream_garbage', 'the metadata of the MCP server is of another resource');
    const metadata = withGiven(found.authorizationServerMetadata, authorizationServerUrl, oauth);
    const issuer = metadata?.issuer ?? authorizationServerUrl;
    checkServer(metadata, issuer, oauth);
    const scopes = resourceMetadata?.scopes_supported?.join(' ');
    return {
      url: authorizationServerUrl,
      issuer,
      metadata,
      resource: named ?? asked.href,
      scope: oauth.scope ?? challenge.scope ?? (scopes === '' ? undefined : scopes),
    };
  } catch (error) {
    throw told(error, outside);
  }
}

type Given = NonNullable<McpIntegrationBody['oauth']>;

/** Endpoints that the integration names are used in the place of those that were found. */
function withGiven(
  found: AuthorizationServerMetadata | undefined,
  url: string,
  { tokenEndpoint, authorizationEndpoint }: Given,
): AuthorizationServerMetadata | undefined {
  if (tokenEndpoint === undefined && authorizationEndpoint === undefined) return found;
  const origin = new URL('/', url).href.replace(/\/$/, '');
  const base = found ?? {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  };
  return {
    ...base,
    ...(tokenEndpoint === undefined ? {} : { token_endpoint: tokenEndpoint }),
    ...(authorizationEndpoint === undefined ? {} : { authorization_endpoint: authorizationEndpoint }),
  } as AuthorizationServerMetadata;
}

function checkServer(metadata: AuthorizationServerMetadata | undefined, issuer: string, given: Given): void {
  if (given.issuer !== undefined && issuer.replace(/\/$/, '') !== given.issuer.replace(/\/$/, ''))
    throw fail(
      'upstream_garbage',
      'the MCP server names another authorization server than its integration does',
    );
  if (metadata === undefined) return;
  if (!metadata.code_challenge_methods_supported?.includes('S256'))
    throw fail('upstream_garbage', 'the authorization server does not support PKCE with S256');
  const { protocol, username } = new URL(metadata.authorization_endpoint);
  if (!/^https?:$/.test(protocol) || username !== '')
    throw fail('upstream_garbage', 'the authorization server has an address that browsers must not open');
}

interface Challenge {
  readonly resourceMetadataUrl?: URL;
  readonly scope?: string;
}

/** What a server says to a request without credentials. */
async function probe(
  { url, transport }: McpIntegrationBody,
  { fetch }: OauthFetch,
  read: (response: Response) => Challenge,
): Promise<Challenge> {
  const isSse = transport === 'sse';
  for (const body of isSse ? [undefined] : PROBES) {
    const answer = await fetch(url, {
      method: isSse ? 'GET' : 'POST',
      headers: {
        accept: isSse ? 'text/event-stream' : 'application/json, text/event-stream',
        ...(isSse ? {} : { 'content-type': 'application/json' }),
      },
      ...(body === undefined ? {} : { body }),
    });
    await answer.body?.cancel();
    if (answer.status === 401 || answer.status === 403) return read(answer);
  }
  return {};
}

/** The error in the gateway's words: the library's may repeat what the server wrote. */
function told(error: unknown, { failures }: OauthFetch): GatewayError {
  if (error instanceof GatewayError) return error;
  const failure = failures.at(-1);
  if (failure !== undefined) return failure;
  const isIssuer = (error as Error | undefined)?.name === 'IssuerMismatchError';
  const why = isIssuer ? 'names another issuer than its address' : 'cannot be read';
  return fail('upstream_garbage', `the metadata of the authorization server ${why}`, { cause: error });
}
