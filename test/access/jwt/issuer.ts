// An issuer of tokens: its keys, a server on loopback that publishes them, and what it signs.
import { randomUUID } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';

export const ORGANISATION = '5b8a2f7e-0000-4000-8000-000000000001';
export const OTHER_ORGANISATION = '5b8a2f7e-0000-4000-8000-000000000002';

/** A key pair under a name. */
export interface SigningKey {
  readonly kid: string;
  readonly algorithm: string;
  readonly publicJwk: JWK;
  readonly privateJwk: JWK;
  readonly privateKey: CryptoKey;
}

export async function signingKey(algorithm = 'RS256', kid: string = randomUUID()): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(algorithm, { extractable: true });
  return {
    kid,
    algorithm,
    publicJwk: { ...(await exportJWK(publicKey)), kid },
    privateJwk: { ...(await exportJWK(privateKey)), kid },
    privateKey,
  };
}

/** Seconds from now. */
export function seconds(from: number): number {
  return Math.floor(Date.now() / 1000) + from;
}

/** Claims that admit; `undefined` takes one away. */
export function claimsWith(changes: Record<string, unknown> = {}): Record<string, unknown> {
  return {
    iss: 'https://issuer.test.example',
    aud: 'sluice',
    sub: 'person-1',
    organisation_id: ORGANISATION,
    workspace_slug: 'default',
    scope: 'completions.write logs.list',
    iat: seconds(-10),
    exp: seconds(600),
    ...changes,
  };
}

/** A signed token. */
export async function sign(
  key: SigningKey,
  claims: Record<string, unknown> = claimsWith(),
  header: Record<string, unknown> = {},
): Promise<string> {
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined));
  const head = { alg: key.algorithm, kid: key.kid, typ: 'JWT', ...header };
  return new SignJWT(given)
    .setProtectedHeader(Object.fromEntries(Object.entries(head).filter(([, v]) => v !== undefined)) as never)
    .sign(key.privateKey);
}

/** How the key set is answered. */
export type Behaviour = (req: http.IncomingMessage, res: http.ServerResponse) => void;

/** A server that publishes a key set. */
export interface JwksServer {
  readonly url: string;
  /** Requests so far. */
  hits: number;
  /** Public keys that it publishes. */
  keys: readonly JWK[];
  /** Instead of the set. */
  behaviour: Behaviour | undefined;
  close(): Promise<void>;
}

export async function startJwks(keys: readonly JWK[]): Promise<JwksServer> {
  const server = http.createServer((req, res) => {
    state.hits++;
    if (state.behaviour) return state.behaviour(req, res);
    res.setHeader('content-type', 'application/json');
    res.end(JSON.stringify({ keys: state.keys }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const state: JwksServer = {
    url: `http://127.0.0.1:${port}/jwks.json`,
    hits: 0,
    keys,
    behaviour: undefined,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return state;
}
