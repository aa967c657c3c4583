// A service account's token (Google, "Using OAuth 2.0 for server to server applications"): a signed assertion is
// exchanged for an access token. google-auth-library does the same over its own HTTP client, past the egress dialer.

import type { JsonObject } from '@bufbuild/protobuf';
import { importPKCS8, SignJWT } from 'jose';
import { textOf } from '../../providers/json-object.ts';
import type { Lease } from '../../secrets/leases.ts';
import { exchange } from './exchange.ts';
import { accountError, SCOPE, tokenIn, webAddress } from './google-token.ts';
import type { CredentialDeps } from './identity.ts';

const TOKENS = 'https://oauth2.googleapis.com/token';
const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

interface ServiceAccount {
  readonly email: string;
  readonly privateKey: string;
  readonly keyId: string | undefined;
  /** Where its tokens are had. */
  readonly tokens: URL;
}

/** The login of a service account. @throws GatewayError `invalid_header` for what is none; nothing of it is repeated */
export function accountLogin(deps: CredentialDeps, json: JsonObject): () => Promise<Lease<string>> {
  const account = readAccount(json);
  return () => login(deps, account);
}

async function login({ dialer, now }: CredentialDeps, account: ServiceAccount): Promise<Lease<string>> {
  const { email, privateKey, keyId, tokens } = account;
  const key = await importPKCS8(privateKey, 'RS256').catch(() => {
    throw accountError('private_key must be an RSA key in PEM (PKCS #8)');
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
  const answer = await exchange(dialer, tokens, {
    headers: ['content-type', 'application/x-www-form-urlencoded'],
    body,
  });
  return tokenIn(answer, tokens, 'the service account', now());
}

function readAccount(json: JsonObject): ServiceAccount {
  const [email, privateKey] = [textOf(json.client_email), textOf(json.private_key)];
  if (email === undefined) throw accountError('must have client_email');
  if (privateKey === undefined) throw accountError('must have private_key');
  const tokens = webAddress(json.token_uri ?? TOKENS, 'token_uri');
  return { email, privateKey, keyId: textOf(json.private_key_id), tokens };
}
