// Clients that register themselves (RFC 7591). Nothing is stored of them: the client id is their metadata, sealed, with
// the time of its making. Strangers can register without bound and leave no rows.
import { SealedText } from '../../lib/sealed-text.ts';
import { type OauthClient, type ReadMetadata, readClientMetadata } from './oauth-client.ts';

interface Sealed {
  /** Name. */
  readonly n: string;
  /** Redirect URIs. */
  readonly r: readonly string[];
  /** Unix seconds. */
  readonly t: number;
}

const PREFIX = 'sluice-';
/** Longest client id, in characters. */
export const MOST_CLIENT_ID = 4096;

export class RegisteredClients {
  readonly #seal: SealedText<Sealed>;
  readonly #now: () => number;
  readonly #unusedMs: number;

  /** @param unusedMs how long a registration counts for new sign-ins */
  constructor(secret: Uint8Array, unusedMs: number, now: () => number) {
    this.#seal = new SealedText(secret, 'oauth client');
    this.#unusedMs = unusedMs;
    this.#now = now;
  }

  /** @throws OauthError invalid_client_metadata, invalid_redirect_uri */
  register(metadata: unknown): { readonly client: OauthClient; readonly issuedAt: number } {
    const { name, redirectUris }: ReadMetadata = readClientMetadata(metadata);
    const issuedAt = Math.floor(this.#now() / 1000);
    const id = PREFIX + this.#seal.seal({ n: name, r: redirectUris, t: issuedAt });
    return { client: { id, name, redirectUris }, issuedAt };
  }

  /** Undefined for an id that was not made here, and for one that has expired. */
  find(id: string): OauthClient | undefined {
    if (!id.startsWith(PREFIX) || id.length > MOST_CLIENT_ID) return undefined;
    const found = this.#seal.open(id.slice(PREFIX.length));
    if (found === undefined || found.t * 1000 + this.#unusedMs <= this.#now()) return undefined;
    return { id, name: found.n, redirectUris: found.r };
  }
}
