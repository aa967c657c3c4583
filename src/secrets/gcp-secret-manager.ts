// Google Cloud Secret Manager, with a service account's key:
// https://cloud.google.com/secret-manager/docs/reference/rest/v1/projects.secrets.versions/access
import { importPKCS8, SignJWT } from 'jose';
import type { AbortLike } from '../lib/abort.ts';
import { secretFailure } from './failure.ts';
import { type Lease, Leases } from './leases.ts';
import type { ManagerDeps, SecretManager } from './manager.ts';
import { ask, form, isRefusedGrant, member, pathOf } from './request.ts';

const API = 'https://secretmanager.googleapis.com';
const TOKENS = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  readonly project: string | undefined;
  /** Where its tokens are had. */
  readonly tokens: URL;
}

/** The path is `projects/P/secrets/S/versions/V`, without the version its latest, or the name of a secret in the account's project. */
export function gcpSecretManager(deps: ManagerDeps): SecretManager {
  const { environment, now } = deps;
  const leases = new Leases<string>(now);

  async function login(account: ServiceAccount, signal: AbortLike): Promise<Lease<string>> {
    const { email, privateKey, tokens: url } = account;
    const key = await importPKCS8(privateKey, 'RS256').catch((error: unknown) => {
      throw secretFailure('invalid', 'the private key of the service account cannot be read', error);
    });
    const at = Math.floor(now() / 1000);
    const assertion = await new SignJWT({ scope: SCOPE })
      .setProtectedHeader({ alg: 'RS256', typ: 'JWT' })
      .setIssuer(email)
      .setAudience(url.href)
      .setIssuedAt(at)
      .setExpirationTime(at + 3600)
      .sign(key);
    const { headers, body } = form({ grant_type: GRANT, assertion });
    const reply = await ask(deps.dialer, { method: 'POST', url, headers, body, signal });
    const token = member(reply.json, 'access_token');
    if (reply.status !== 200 || typeof token !== 'string')
      throw secretFailure(
        isRefusedGrant(reply) ? 'denied' : 'invalid',
        `Google gives the service account no token (${reply.status})`,
      );
    const seconds = Number(member(reply.json, 'expires_in')) || 300;
    return { token, expiresAt: now() + seconds * 1000 };
  }

  return {
    async read({ auth, path }, signal) {
      const account = readAccount(auth.gcp_service_account_json ?? '');
      const name = secretName(path, auth.gcp_project_id ?? account.project);
      const base = environment.CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER || API;
      const url = new URL(`/v1/${pathOf(name)}:access`, base);
      const who = [account.email, account.privateKey, account.tokens];
      const get = async () => {
        const token = await leases.get(who, () => login(account, signal));
        const headers = ['authorization', `Bearer ${token}`];
        return ask(deps.dialer, { method: 'GET', url, headers, signal });
      };
      let reply = await get();
      if (reply.status === 401) {
        leases.drop(who);
        reply = await get();
      }
      const { status, json } = reply;
      if (status === 404) throw secretFailure('missing', 'Google Secret Manager has no such secret');
      if (status === 403) throw secretFailure('denied', 'Google Secret Manager refuses access to the secret');
      const data = member(json, 'payload', 'data');
      if (status !== 200 || typeof data !== 'string')
        throw secretFailure('invalid', `Google Secret Manager answers ${status} without a secret`);
      return Buffer.from(data, 'base64').toString('utf8');
    },
  };
}

/** @throws GatewayError secret_unavailable (invalid) */
function readAccount(text: string): ServiceAccount {
  try {
    const json: unknown = JSON.parse(text);
    const of = (name: string): string | undefined => {
      const value = member(json, name);
      return typeof value === 'string' ? value : undefined;
    };
    const [email, privateKey] = [of('client_email'), of('private_key')];
    const tokens = new URL(of('token_uri') ?? TOKENS);
    if (email !== undefined && privateKey !== undefined)
      return { email, privateKey, project: of('project_id'), tokens };
  } catch {
    // Told below; the parser's words could repeat the key.
  }
  throw secretFailure('invalid', 'auth_config.gcp_service_account_json: is no key file of a service account');
}

function secretName(path: string, project: string | undefined): string {
  if (/^projects\/[^/]+\/secrets\/[^/]+\/versions\/[^/]+$/.test(path)) return path;
  if (/^projects\/[^/]+\/secrets\/[^/]+$/.test(path)) return `${path}/versions/latest`;
  if (path.includes('/') || project === undefined)
    throw secretFailure('invalid', 'secret_path: must be projects/P/secrets/S, or a name with a project');
  return `projects/${project}/secrets/${path}/versions/latest`;
}
