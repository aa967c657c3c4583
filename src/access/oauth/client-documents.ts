// Clients whose id is the address of a metadata document (OAuth Client ID Metadata Document). The document is fetched
// through the egress firewall when a person who has signed in asks for it; redirects are not followed.
import type { Dialer } from '../../lib/egress/outbound.ts';
import { LruCache } from '../../lib/lru-cache.ts';
import { Semaphore } from '../../lib/semaphore.ts';
import { FETCH_MS, fetchOfClient, refusedDocument as refused } from './client-fetch.ts';
import { readClientKeys } from './client-keys.ts';
import { type OauthClient, readClientMetadata } from './oauth-client.ts';

const MOST_ID = 1024;
const MOST_BYTES = 32 * 1024;
/** How long a document counts when its server says nothing. */
const USUAL_MS = 300_000;
const LONGEST_MS = 3_600_000;
const REFUSED_MS = 15_000;
const MOST_KNOWN = 500;
/** Documents fetched at once. */
const AT_ONCE = 8;

interface Lifetime {
  /** Unix milliseconds. */
  until: number;
}

interface Known {
  readonly client: Promise<OauthClient>;
  readonly lifetime: Lifetime;
}

export interface ClientDocumentsDeps {
  readonly dialer: Pick<Dialer, 'whole'>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** Whether an id has the form of an address: https, with a path, without dot segments, credentials or fragment. */
export function isClientAddress(id: string): boolean {
  if (id.length > MOST_ID || !/^https:\/\/[\x21-\x7e]+$/.test(id) || !URL.canParse(id)) return false;
  const url = new URL(id);
  const isPlain = url.username === '' && url.password === '' && !id.includes('#') && !id.includes('\\');
  return isPlain && url.pathname !== '/' && url.href === id;
}

export class ClientDocuments {
  readonly #deps: ClientDocumentsDeps;
  readonly #known = new LruCache<Known>(MOST_KNOWN);
  readonly #semaphore = new Semaphore(AT_ONCE);

  constructor(deps: ClientDocumentsDeps) {
    this.#deps = deps;
  }

  /** @throws OauthError invalid_client for an address without a document that may be used */
  find(id: string): Promise<OauthClient> {
    const known = this.#known.get(id);
    if (known !== undefined && known.lifetime.until > this.#deps.now()) return known.client;
    const lifetime: Lifetime = { until: this.#deps.now() + 4 * FETCH_MS };
    const client = this.#semaphore.pass(() => this.#fetched(id, lifetime));
    client.catch(() => {
      lifetime.until = this.#deps.now() + REFUSED_MS;
    });
    this.#known.set(id, { client, lifetime });
    return client;
  }

  #fetched(id: string, lifetime: Lifetime): Promise<OauthClient> {
    const { dialer, now } = this.#deps;
    const url = new URL(id);
    return fetchOfClient(dialer, url, { subject: '', mostBytes: MOST_BYTES }, (answer) => {
      const type = answer.header('content-type') ?? '';
      if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(type)) throw refused('is not JSON');
      const client = clientOf(id, url.host, parsed(answer.body));
      lifetime.until = now() + lifetimeOf(answer.header('cache-control'));
      return client;
    });
  }
}

function clientOf(id: string, host: string, document: Readonly<Record<string, unknown>>): OauthClient {
  if (document.client_id !== id) throw refused('is of another client: its client_id must be its address');
  if ('client_secret' in document || 'client_secret_expires_at' in document)
    throw refused('must have no secret');
  const method = document.token_endpoint_auth_method ?? 'none';
  if (method !== 'none' && method !== 'private_key_jwt')
    throw refused('must say token_endpoint_auth_method "none" or "private_key_jwt"');
  const { name, redirectUris } = readClientMetadata(document);
  const keys = method === 'none' ? {} : { isSigned: true as const, keys: readClientKeys(document) };
  return { id, host, redirectUris, name: name === '' ? host : name, ...keys };
}

function parsed(body: Uint8Array): Readonly<Record<string, unknown>> {
  try {
    const json: unknown = JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(body));
    if (typeof json === 'object' && json !== null && !Array.isArray(json))
      return json as Readonly<Record<string, unknown>>;
  } catch {
    // Told below.
  }
  throw refused('is no JSON object');
}

function lifetimeOf(cacheControl: string | undefined): number {
  if (cacheControl === undefined) return USUAL_MS;
  if (/\bno-(?:store|cache)\b/i.test(cacheControl)) return 0;
  const seconds = /\bmax-age=(\d{1,9})\b/i.exec(cacheControl)?.[1];
  return seconds === undefined ? USUAL_MS : Math.min(LONGEST_MS, Number(seconds) * 1000);
}
