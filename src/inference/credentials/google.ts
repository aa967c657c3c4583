// A service account's token (Google, "Using OAuth 2.0 for server to server applications"): a signed assertion is
// exchanged for an access token. google-auth-library does the same over its own HTTP client, past the egress dialer.
import { importPKCS8, SignJWT } from 'jose';
import { fail, invalidHeader } from '../../lib/errors.ts';
import type { ProviderOptions } from '../../providers/dialect.ts';
import { parsedObject, textOf } from '../../providers/json-object.ts';
import { type Lease, Leases } from '../../secrets/leases.ts';
import { arriving } from '../pipeline/arriving.ts';
import { exchange } from './exchange.ts';
import type { CredentialDeps, Identity } from './identity.ts';

const TOKENS = 'https://oauth2.googleapis.com/token';
const SCOPE = 'https://www.googleapis.com/auth/cloud-platform';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';
const ACCOUNT = 'x-gateway-vertex-service-account-json';
/** A token without a life of its own is kept for so long, in seconds. */
const USUAL_LIFE = 300;
const TOKEN = /^[\x21-\x7e]{1,8192}$/;

interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId: string | undefined;
  /** Where its tokens are had. */
  readonly tokens: URL;
}

/** An access token as it is given goes out with the request; a service account's is fetched here. */
export function googleTokens(deps: CredentialDeps): Identity {
  const leases = new Leases<string>(deps.now);
  const tokenOf = (json: string): Promise<string> => {
    // Read first, so that a broken key is the caller's fault each time.
    const account = readAccount(json);
    return leases.get(json, () => login(deps, account));
  };
  return ({ target }, request) => {
    const json = accountIn(target.options);
    return json === undefined
      ? undefined
      : arriving(tokenOf(json), request.signal).then((token) => ({
          headers: ['authorization', `Bearer ${token}`],
        }));
  };
}

/** The JSON of the service account that calls; undefined where a token does. */
function accountIn({
  vertex_auth_type: type,
  vertex_service_account_json: json,
}: ProviderOptions): string | undefined {
  if (type === 'workload')
    throw invalidHeader(
      'x-gateway-vertex-auth-type',
      'workload is not supported yet: use basic or serviceAccount',
    );
  if (type === 'serviceAccount' && !json) throw invalidHeader(ACCOUNT, 'is required with serviceAccount');
  return type === 'basic' || !json ? undefined : json;
}

async function login({ dialer, now }: CredentialDeps, account: ServiceAccount): Promise<Lease<string>> {
  const { email, privateKey, keyId, tokens } = account;
  const key = await importPKCS8(privateKey, 'RS256').catch(() => {
    throw invalidHeader(ACCOUNT, 'private_key must be an RSA key in PEM (PKCS #8)');
  });
  const at = Math.floor(now() / 1000);
  const assertion = await new SignJWT({ scope: SCOPE })
    .setProtectedHeader({ alg: 'RS256', typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })
    .setIssuer(email)
    .setSubject(email)
    .setAudience(tokens.href)
    .setIssuedAt(at)
    .setExpirationTime(at + 3600)
    .sign(key);
  const body = new URLSearchParams({ grant_type: GRANT, assertion }).toString();
  const headers = ['content-type', 'application/x-www-form-urlencoded'];
  const { status, text } = await exchange(dialer, tokens, headers, body);
  const json = parsedObject(text);
  const token = textOf(json?.access_token);
  if (status === 200 && token !== undefined && TOKEN.test(token)) {
    const life = typeof json?.expires_in === 'number' && json.expires_in > 0 ? json.expires_in : USUAL_LIFE;
    return { token, expiresAt: now() + life * 1000 };
  }
  // The endpoint's words could repeat the assertion.
  const why = /^[a-z_]{1,64}$/.test(textOf(json?.error) ?? '') ? `: ${textOf(json?.error)}` : '';
  if (status >= 400 && status < 500)
    throw fail('upstream_status', `the service account was given no token${why}`, {
      status: status === 429 ? 429 : 401,
      code: 'token_refused',
    });
  throw fail('upstream_unreachable', `${tokens.host} gave the service account no token (${status})`);
}

/** @throws GatewayError `invalid_header` for what is no key of a service account; nothing of it is repeated. */
function readAccount(text: string): ServiceAccount {
  const json = parsedObject(text);
  if (json === undefined) throw invalidHeader(ACCOUNT, 'must be the JSON of a service account');
  const [email, privateKey] = [textOf(json.client_email), textOf(json.private_key)];
  if (email === undefined) throw invalidHeader(ACCOUNT, 'must have client_email');
  if (privateKey === undefined) throw invalidHeader(ACCOUNT, 'must have private_key');
  const tokens = URL.parse(textOf(json.token_uri) ?? TOKENS);
  if (tokens === null || !/^https?:$/.test(tokens.protocol) || tokens.username !== '' || tokens.hash !== '')
    throw invalidHeader(ACCOUNT, 'token_uri must be an https address');
  return { email, privateKey, keyId: textOf(json.private_key_id), tokens };
}
