// The authorization server for MCP clients, with what it needs of the rooms.
import type { IncomingMessage } from 'node:http';
import { McpService } from '../../gen/gateway/inference/v2/mcp_pb.ts';
import { ClientAssertions } from '../access/oauth/client-assertion.ts';
import { ClientDocuments } from '../access/oauth/client-documents.ts';
import { Consent, type Visitor } from '../access/oauth/consent.ts';
import type { OauthDeps } from '../access/oauth/oauth-deps.ts';
import { RegisteredClients } from '../access/oauth/registered-clients.ts';
import { TokenEndpoint } from '../access/oauth/token-endpoint.ts';
import { admission } from '../access/still-valid.ts';
import type { Call } from '../call/call.ts';
import { baseOf } from '../edge/base-of.ts';
import { type McpPath, mcpPathOf } from '../edge/mcp-paths.ts';
import type { OauthSurface } from '../edge/oauth/oauth-routes.ts';
import { AddressRates } from '../lib/address-rates.ts';
import { clientAddress } from '../lib/client-address.ts';
import { GatewayHeaders, type HeaderNames } from '../lib/gateway-headers.ts';
import { annotationsOf } from '../rest/routes.ts';
import type { Base } from './base.ts';
import type { Identity } from './open-identity.ts';
import type { McpOauth } from './open-mcp-oauth.ts';
import type { Replicas } from './open-replicas.ts';

export type VisitorOf = (req: IncomingMessage) => Visitor;

/** Who is at a page. */
export function visitorReader({ settings }: Pick<Base, 'settings'>, names: HeaderNames): VisitorOf {
  const { publicUrl, trustedProxies } = settings;
  return (req) => ({
    headers: new GatewayHeaders(names, req.headers),
    address: addressOf(req, trustedProxies),
    base: baseOf(publicUrl, req),
  });
}

export function openOauth(
  { settings, stores: { documents, hasher, hashSecret } }: Base,
  { dialer, directory, sessions, grants, auditLog }: Identity,
  { mcp }: Pick<Replicas, 'mcp'>,
  { connect }: Pick<McpOauth, 'connect'>,
  visitorOf: VisitorOf,
): OauthSurface {
  const now = Date.now;
  const { oauth } = settings;
  const registered = new RegisteredClients(hashSecret, oauth.clientMs, now);
  const clientDocuments = new ClientDocuments({ dialer, now });
  const deps: OauthDeps = {
    documents,
    systemChanges: auditLog.systemChanges,
    directory,
    sessions,
    grants,
    mcp,
    hasher,
    registered,
    clientDocuments,
    assertions: new ClientAssertions({ dialer, now, clientDocuments }),
    secret: hashSecret,
    pathOf: (path) => {
      const found = mcpPathOf(path);
      return found?.kind === 'protocol' ? found : undefined;
    },
    admit: admission(annotationsOf(McpService.method.callTool).access, directory),
    accessMs: oauth.accessMs,
    grantMs: oauth.grantMs,
    now,
  };
  const rates = {
    registration: new AddressRates(oauth.registrationsPerSecond || 1),
    refusal: new AddressRates(settings.failedCallsPerSecond),
  };
  return {
    visitorOf,
    connect,
    sessions,
    secure: ({ headers }) => sessions.site.secure || headers['x-forwarded-proto'] === 'https',
    signInPath: '/console/sign-in',
    consent: new Consent(deps),
    tokens: new TokenEndpoint(deps),
    register: oauth.registrationsPerSecond === 0 ? undefined : (metadata) => registered.register(metadata),
    taken: (req, what) => rates[what].take(addressOf(req, settings.trustedProxies)),
  };
}

/** Finds the caller of an access token at the server that the token is for; false: it is none, or for another server. */
export function identifyByGrant(
  { grants }: Pick<Identity, 'grants'>,
  { mcp }: Pick<Replicas, 'mcp'>,
): (call: Call, path: McpPath) => undefined | Promise<boolean> {
  return (call, { slug }) => {
    if (call.headers.get('api-key') !== undefined) return undefined;
    const token = grants.tokenOf(call.headers);
    if (token === undefined) return undefined;
    return (async () => {
      const found = await grants.callerOf(token);
      if (found === undefined) return false;
      const { principal, grant } = found;
      const { organisationId, workspaceId = '' } = principal;
      const server = slug === undefined ? undefined : mcp.serverBySlug(organisationId, workspaceId, slug);
      if (slug !== undefined && server === undefined) return false;
      if (!grant.body.isForEach && server?.id !== grant.body.serverId) return false;
      call.identity = { principal, key: token, providerCredential: undefined };
      return true;
    })();
  };
}

function addressOf(
  { socket, headers }: IncomingMessage,
  trusted: Base['settings']['trustedProxies'],
): string {
  const forwarded = headers['x-forwarded-for'];
  const list = Array.isArray(forwarded) ? forwarded.join(',') : forwarded;
  return clientAddress(socket.remoteAddress ?? '', list, trusted);
}
