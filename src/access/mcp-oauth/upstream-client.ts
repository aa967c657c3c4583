// Which client the gateway is at an upstream's authorization server: the one that the integration names, its own metadata
// document, or one that it registers, in this order.
import { randomUUID } from 'node:crypto';
import { fail, GatewayError } from '../../lib/errors.ts';
import {
  archiveOperation,
  type Document,
  type DocumentStore,
  insertOperation,
} from '../../store/documents.ts';
import type { McpIntegrationBody } from '../mcp/mcp-collections.ts';
import type { AuthServer } from './auth-server.ts';
import type { OauthFetch } from './oauth-fetch.ts';
import { type UpstreamClientBody, upstreamClients } from './upstream-client-collection.ts';

/** As the official client's functions take it. */
export interface ClientInformation {
  readonly client_id: string;
  readonly client_secret?: string;
  readonly token_endpoint_auth_method?: string;
}

/** Registered clients of one integration. */
const MOST_CLIENTS = 8;
export const METADATA_PATH = '/oauth/client-metadata.json';
export const CALLBACK_PATH = '/oauth/callback';

/** What the gateway says of itself as a client. @param base where people reach it */
export function ownMetadata(base: string): Readonly<Record<string, unknown>> {
  return {
    client_id: base + METADATA_PATH,
    client_name: 'Sluice',
    client_uri: base,
    application_type: base.startsWith('https://') ? 'web' : 'native',
    redirect_uris: [base + CALLBACK_PATH],
    grant_types: ['authorization_code', 'refresh_token'],
    response_types: ['code'],
    token_endpoint_auth_method: 'none',
  };
}

export interface UpstreamClientDeps {
  readonly documents: DocumentStore;
  /** The integration's client secret, secret references filled in. */
  readonly clientSecret: (integration: Document<McpIntegrationBody>) => Promise<string | undefined>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** @throws GatewayError upstream_status where the server takes no client of these */
export async function clientFor(
  deps: UpstreamClientDeps,
  integration: Document<McpIntegrationBody>,
  server: AuthServer,
  base: string,
  outside: OauthFetch,
): Promise<ClientInformation> {
  const { clientId } = integration.body.oauth ?? {};
  if (clientId !== undefined) {
    const secret = await deps.clientSecret(integration);
    return { client_id: clientId, ...(secret === undefined ? {} : { client_secret: secret }) };
  }
  const { metadata } = server;
  const takesDocuments = (metadata as { client_id_metadata_document_supported?: boolean } | undefined)
    ?.client_id_metadata_document_supported;
  if (takesDocuments === true && base.startsWith('https://')) return { client_id: base + METADATA_PATH };
  if (metadata !== undefined && metadata.registration_endpoint === undefined)
    throw fail(
      'upstream_status',
      'the authorization server registers no clients: an admin sets client_id in the oauth_metadata of the MCP integration',
    );
  return registered(deps, integration, server, base, outside);
}

async function registered(
  deps: UpstreamClientDeps,
  integration: Document<McpIntegrationBody>,
  server: AuthServer,
  base: string,
  outside: OauthFetch,
): Promise<ClientInformation> {
  const scope = { organisationId: integration.organisationId, workspaceId: undefined };
  const redirectUri = base + CALLBACK_PATH;
  const known = await stored(deps, integration, server.issuer);
  const { expiresAt = Number.POSITIVE_INFINITY } = known?.body ?? {};
  if (known !== undefined && known.body.redirectUri === redirectUri && expiresAt > deps.now())
    return asked(known.body);
  const body = await register(integration, server, base, outside);
  const at = deps.now();
  // A server may name another issuer each time: the oldest clients go.
  const page = await deps.documents.page(scope, upstreamClients, {
    filter: [{ field: 'integrationId', op: 'eq', value: integration.id }],
    sort: { field: 'createdAt', order: 'desc' },
    pageSize: 2 * MOST_CLIENTS,
  });
  const old = page.documents.filter(({ id }, i) => id === known?.id || i >= MOST_CLIENTS - 1);
  const operations = [
    ...old.map(({ id }) => archiveOperation(upstreamClients, id, { updatedAt: at })),
    insertOperation(upstreamClients, { id: randomUUID(), createdAt: at, body }),
  ];
  try {
    await deps.documents.commit(scope, operations);
    return asked(body);
  } catch (error) {
    // Another sign-in has registered one at the same time.
    const isLost =
      error instanceof GatewayError && ['conflict', 'not_found', 'version_conflict'].includes(error.reason);
    const other = isLost ? await stored(deps, integration, server.issuer) : undefined;
    if (other === undefined) throw error;
    return asked(other.body);
  }
}

async function register(
  integration: Document<McpIntegrationBody>,
  { url, metadata, issuer, scope }: AuthServer,
  base: string,
  outside: OauthFetch,
): Promise<UpstreamClientBody> {
  const client = await import('@modelcontextprotocol/client');
  const { client_id: _, ...own } = ownMetadata(base);
  const methods = metadata?.token_endpoint_auth_methods_supported ?? [];
  const method = methods.length === 0 || methods.includes('none') ? 'none' : methods[0];
  try {
    const made = await client.registerClient(url, {
      ...(metadata === undefined ? {} : { metadata }),
      clientMetadata: { ...own, token_endpoint_auth_method: method } as never,
      ...(scope === undefined ? {} : { scope }),
      fetchFn: outside.fetch,
    });
    if (made.client_id.length > 2048) throw new Error('the client id is too long');
    const expires = made.client_secret_expires_at ?? 0;
    return {
      integrationId: integration.id,
      issuer,
      redirectUri: base + CALLBACK_PATH,
      clientId: made.client_id,
      ...(made.client_secret === undefined ? {} : { secret: { clientSecret: made.client_secret } }),
      ...(made.token_endpoint_auth_method === undefined
        ? {}
        : { authMethod: made.token_endpoint_auth_method }),
      ...(made.client_secret !== undefined && expires > 0 ? { expiresAt: expires * 1000 } : {}),
    };
  } catch (error) {
    const failure = outside.failures.at(-1);
    if (failure !== undefined) throw failure;
    throw fail('upstream_status', 'the authorization server does not register the gateway as a client', {
      cause: error,
    });
  }
}

/** Forgets a registered client that the server does not know any more. */
export async function forgetClient(
  { documents, now }: UpstreamClientDeps,
  integration: Document<McpIntegrationBody>,
  issuer: string,
): Promise<void> {
  const known = await stored({ documents }, integration, issuer);
  if (known === undefined) return;
  const scope = { organisationId: integration.organisationId, workspaceId: undefined };
  await documents
    .commit(scope, [archiveOperation(upstreamClients, known.id, { updatedAt: now() })])
    .catch(() => {});
}

/** The registered client as it is stored. */
export async function stored(
  { documents }: Pick<UpstreamClientDeps, 'documents'>,
  { organisationId, id }: Document<McpIntegrationBody>,
  issuer: string,
): Promise<Document<UpstreamClientBody> | undefined> {
  const page = await documents.page({ organisationId, workspaceId: undefined }, upstreamClients, {
    filter: [
      { field: 'integrationId', op: 'eq', value: id },
      { field: 'issuer', op: 'eq', value: issuer },
    ],
    pageSize: 1,
  });
  return page.documents[0];
}

export function asked({ clientId, secret, authMethod }: UpstreamClientBody): ClientInformation {
  return {
    client_id: clientId,
    ...(secret === undefined ? {} : { client_secret: secret.clientSecret }),
    ...(authMethod === undefined ? {} : { token_endpoint_auth_method: authMethod }),
  };
}
