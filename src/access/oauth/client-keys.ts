// The public keys of clients that prove themselves by signed assertions: those of the metadata document, or those at its
// `jwks_uri`, fetched through the egress firewall and kept for a while.
import type { JSONWebKeySet } from 'jose';
import type { Dialer } from '../../lib/egress/outbound.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { fetchOfClient, refusedDocument as refused } from './client-fetch.ts';

/** Where the keys of a client are. */
export type ClientKeys = { readonly jwks: JSONWebKeySet } | { readonly uri: string };

export interface ClientKeysDeps {
  readonly dialer: Pick<Dialer, 'whole'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

interface Known {
  readonly jwks: Promise<JSONWebKeySet>;
  readonly at: number;
}

const MOST_KEYS = 16;
const MOST_BYTES = 64 * 1024;
const KEPT_MS = 300_000;
/** Keys that are so new are not fetched again. */
const FRESH_MS = 15_000;
const MOST_KNOWN = 500;
const SECRET_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** The keys that a metadata document names. @throws OauthError invalid_client */
export function readClientKeys(document: Readonly<Record<string, unknown>>): ClientKeys {
  const { jwks, jwks_uri: uri } = document;
  if ((jwks === undefined) === (uri === undefined)) throw refused('must have either jwks or jwks_uri');
  if (jwks !== undefined) return { jwks: keySetOf(jwks, 'jwks') };
  const url = typeof uri === 'string' && /^https:\/\/[\x21-\x7e]{1,2000}$/.test(uri) ? URL.parse(uri) : null;
  if (url === null || url.username !== '' || url.password !== '' || url.hash !== '')
    throw refused('must have an https address as its jwks_uri');
  return { uri: url.href };
}

export class ClientKeySets {
  readonly #deps: ClientKeysDeps;
  readonly #known = new LruCache<Known>(MOST_KNOWN);

  constructor(deps: ClientKeysDeps) {
    this.#deps = deps;
  }

  /** @param isUnknown the keys that are kept do not fit: they may have changed @throws OauthError invalid_client */
  of(keys: ClientKeys, isUnknown: boolean): Promise<JSONWebKeySet> {
    if ('jwks' in keys) return Promise.resolve(keys.jwks);
    const now = this.#deps.now();
    const known = this.#known.get(keys.uri);
    if (known !== undefined && now - known.at < (isUnknown ? FRESH_MS : KEPT_MS)) return known.jwks;
    const jwks = this.#fetched(new URL(keys.uri));
    this.#known.set(keys.uri, { jwks, at: now });
    jwks.catch(() => this.#known.set(keys.uri, { jwks, at: now - KEPT_MS + FRESH_MS }));
    return jwks;
  }

  #fetched(uri: URL): Promise<JSONWebKeySet> {
    const what = { subject: 'has a jwks_uri that ', mostBytes: MOST_BYTES };
    return fetchOfClient(this.#deps.dialer, uri, what, ({ body }) =>
      keySetOf(JSON.parse(new TextDecoder().decode(body)), 'jwks_uri'),
    );
  }
}

function keySetOf(given: unknown, member: string): JSONWebKeySet {
  const keys = (given as { readonly keys?: unknown } | null)?.keys;
  if (!Array.isArray(keys) || keys.length === 0 || keys.length > MOST_KEYS)
    throw refused(`must have 1 to ${MOST_KEYS} keys in its ${member}`);
  for (const key of keys as unknown[])
    if (typeof key !== 'object' || key === null || SECRET_MEMBERS.some((one) => Object.hasOwn(key, one)))
      throw refused(`must have public keys alone in its ${member}`);
  return { keys } as JSONWebKeySet;
}
