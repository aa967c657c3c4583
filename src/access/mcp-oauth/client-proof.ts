// The gateway's proof at an upstream's authorization server by a signed assertion (`private_key_jwt`, RFC 7523, part 2.2).
import { createPrivateKey, type JsonWebKey, type KeyObject, randomUUID } from 'node:crypto';
import { fail } from '../../lib/errors.ts';

/** How an integration's client proves itself; absent in its metadata: by its secret, as the server prefers. */
export const PRIVATE_KEY_JWT = 'private_key_jwt';
export const ASSERTION_ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA'],
] as const;
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer';
const SECONDS = 300;
const CURVES: Readonly<Record<string, string>> = {
  prime256v1: 'ES256',
  secp384r1: 'ES384',
  secp521r1: 'ES512',
};

/** A key that can sign, and what it is told by. */
export interface SigningKey {
  readonly key: KeyObject;
  readonly algorithm: string;
  readonly keyId: string | undefined;
}

/**
 * @param text a PKCS#8 key in PEM, or a private JWK as JSON
 * @param wanted algorithm; undefined: that of the JWK, or the usual one of its kind of key
 * @returns undefined for what is no key that signs so
 */
export function signingKey(text: string, wanted: string | undefined): SigningKey | undefined {
  try {
    const jwk = text.trimStart().startsWith('{') ? (JSON.parse(text) as JsonWebKey) : undefined;
    const key = createPrivateKey(jwk === undefined ? text : { key: jwk, format: 'jwk' });
    const named = wanted ?? (typeof jwk?.alg === 'string' ? jwk.alg : undefined);
    const usual = usualAlgorithm(key);
    if (usual === undefined || (named !== undefined && !fits(named, usual))) return undefined;
    return { key, algorithm: named ?? usual, keyId: typeof jwk?.kid === 'string' ? jwk.kid : undefined };
  } catch {
    return undefined;
  }
}

/** Adds the proof to a request for a token. @param audience the issuer @throws GatewayError conflict */
export async function addAssertion(
  params: URLSearchParams,
  clientId: string,
  signing: SigningKey | undefined,
  audience: string,
): Promise<void> {
  if (signing === undefined)
    throw fail('conflict', 'the client_secret of the MCP integration is no private key that can sign');
  const { SignJWT } = await import('jose');
  const { key, algorithm: alg, keyId } = signing;
  const assertion = await new SignJWT({ jti: randomUUID() })
    .setProtectedHeader({ alg, typ: 'JWT', ...(keyId === undefined ? {} : { kid: keyId }) })
    .setIssuer(clientId)
    .setSubject(clientId)
    .setAudience(audience)
    .setIssuedAt()
    .setExpirationTime(`${SECONDS}s`)
    .sign(key);
  params.set('client_id', clientId);
  params.set('client_assertion', assertion);
  params.set('client_assertion_type', ASSERTION_TYPE);
}

function usualAlgorithm({ asymmetricKeyType, asymmetricKeyDetails }: KeyObject): string | undefined {
  if (asymmetricKeyType === 'rsa')
    return (asymmetricKeyDetails?.modulusLength ?? 0) >= 2048 ? 'RS256' : undefined;
  if (asymmetricKeyType === 'ec') return CURVES[asymmetricKeyDetails?.namedCurve ?? ''];
  return asymmetricKeyType === 'ed25519' ? 'EdDSA' : undefined;
}

function fits(wanted: string, usual: string): boolean {
  return usual === 'RS256' ? /^[RP]S(?:256|384|512)$/.test(wanted) : wanted === usual;
}
