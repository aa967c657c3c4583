// Access tokens for Azure Key Vault from Microsoft Entra:
// https://learn.microsoft.com/entra/identity-platform/v2-oauth2-client-creds-grant-flow
import { readFile } from 'node:fs/promises';
import type { AbortLike } from '../../lib/abort.ts';
import { secretFailure } from '../failure.ts';
import { type Lease, Leases } from '../leases.ts';
import type { AuthConfig, ManagerDeps } from '../manager.ts';
import { ask, form, isRefusedGrant, member, type Reply } from '../request.ts';

const AUTHORITY = 'https://login.microsoftonline.com';
const ASSERTION = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const TENANT = /^[A-Za-z0-9.-]{1,255}$/;

/**
 * `entra`: the reference's client. `managed`: the identity of App Service or Container Apps (IDENTITY_ENDPOINT,
 * IDENTITY_HEADER; the endpoint is private, so that GATEWAY_EGRESS_ALLOW must name it), or a workload identity
 * (AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID). `default`: AZURE_CLIENT_SECRET with tenant and
 * client, else as `managed`. The metadata service of virtual machines is never asked.
 */
export function azureTokens(deps: ManagerDeps) {
  const { environment, now } = deps;
  const leases = new Leases<string>(now);

  async function fromEntra(
    tenant: string,
    fields: Readonly<Record<string, string | undefined>>,
    signal: AbortLike,
  ): Promise<Lease<string>> {
    if (!TENANT.test(tenant)) throw secretFailure('invalid', 'the tenant of Microsoft Entra is not one');
    const url = new URL(`/${tenant}/oauth2/v2.0/token`, environment.AZURE_AUTHORITY_HOST || AUTHORITY);
    const { headers, body } = form({ grant_type: 'client_credentials', ...fields });
    return leaseOf(await ask(deps.dialer, { method: 'POST', url, headers, body, signal }), now());
  }

  async function fromPlatform(
    resource: string,
    client: string | undefined,
    signal: AbortLike,
  ): Promise<Lease<string>> {
    const { IDENTITY_ENDPOINT, IDENTITY_HEADER } = environment;
    if (IDENTITY_ENDPOINT && IDENTITY_HEADER) {
      const url = new URL(IDENTITY_ENDPOINT);
      url.searchParams.set('api-version', '2019-08-01');
      url.searchParams.set('resource', resource);
      if (client) url.searchParams.set('client_id', client);
      const headers = ['x-identity-header', IDENTITY_HEADER];
      return leaseOf(await ask(deps.dialer, { method: 'GET', url, headers, signal }), now());
    }
    const { AZURE_FEDERATED_TOKEN_FILE, AZURE_TENANT_ID, AZURE_CLIENT_ID } = environment;
    if (!AZURE_FEDERATED_TOKEN_FILE || !AZURE_TENANT_ID)
      throw secretFailure('invalid', 'the gateway has no Azure identity of its own in its environment');
    const fields = {
      client_id: client || AZURE_CLIENT_ID,
      scope: `${resource}/.default`,
      client_assertion_type: ASSERTION,
      client_assertion: (await readFile(AZURE_FEDERATED_TOKEN_FILE, 'utf8')).trim(),
    };
    return fromEntra(AZURE_TENANT_ID, fields, signal);
  }

  function login(auth: AuthConfig, resource: string, signal: AbortLike): Promise<Lease<string>> {
    const { AZURE_TENANT_ID, AZURE_CLIENT_ID, AZURE_CLIENT_SECRET } = environment;
    const scope = `${resource}/.default`;
    if (auth.azure_auth_mode === 'entra') {
      const { azure_entra_client_id: client_id, azure_entra_client_secret: client_secret } = auth;
      return fromEntra(auth.azure_entra_tenant_id ?? '', { client_id, client_secret, scope }, signal);
    }
    const whole = AZURE_TENANT_ID && AZURE_CLIENT_ID && AZURE_CLIENT_SECRET;
    if (auth.azure_auth_mode === 'default' && whole)
      return fromEntra(
        AZURE_TENANT_ID,
        { client_id: AZURE_CLIENT_ID, client_secret: AZURE_CLIENT_SECRET, scope },
        signal,
      );
    return fromPlatform(resource, auth.azure_managed_client_id, signal);
  }

  const who = ({ azure_vault_url: _, ...rest }: AuthConfig, resource: string) => [rest, resource];
  return {
    /** @param resource what the token is for, e.g. `https://vault.azure.net` */
    get: (auth: AuthConfig, resource: string, signal: AbortLike): Promise<string> =>
      leases.get(who(auth, resource), () => login(auth, resource, signal)),
    drop: (auth: AuthConfig, resource: string): void => leases.drop(who(auth, resource)),
  };
}

function leaseOf(reply: Reply, at: number): Lease<string> {
  const token = member(reply.json, 'access_token');
  if (reply.status !== 200 || typeof token !== 'string')
    throw secretFailure(
      isRefusedGrant(reply) ? 'denied' : 'invalid',
      `Microsoft Entra gives no token for the vault (${reply.status})`,
    );
  const seconds = Number(member(reply.json, 'expires_in'));
  const until = Number(member(reply.json, 'expires_on'));
  return { token, expiresAt: seconds > 0 ? at + seconds * 1000 : until > 0 ? until * 1000 : at + 300_000 };
}
