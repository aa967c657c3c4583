// Clients of the authorization server: what a client says of itself, checked.
import type { ClientKeys } from './client-keys.ts';
import { OauthError } from './oauth-error.ts';
import { redirectUriFault } from './redirect-uri.ts';

/** A client that may ask for tokens. All prove themselves by PKCE; those with keys by a signed assertion, too. */
export interface OauthClient {
  readonly id: string;
  /** In the client's own words. */
  readonly name: string;
  /** The host that vouches for its metadata; undefined: it registered itself. */
  readonly host?: string;
  readonly redirectUris: readonly string[];
  /** It proves itself by `private_key_jwt`, with these keys. */
  readonly isSigned?: true;
  readonly keys?: ClientKeys;
}

/** What is read of a client's metadata (RFC 7591, part 2). */
export interface ReadMetadata {
  readonly name: string;
  readonly redirectUris: readonly string[];
}

export const MOST_REDIRECT_URIS = 10;
/** Of all redirect URIs of a client, in characters. */
const MOST_URI_CHARS = 1800;
const MOST_NAME = 100;

/** @throws OauthError invalid_client_metadata, invalid_redirect_uri naming the member */
export function readClientMetadata(given: unknown): ReadMetadata {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new OauthError('invalid_client_metadata', 'the metadata of a client is a JSON object');
  const metadata = given as Readonly<Record<string, unknown>>;
  const { redirect_uris: uris, client_name: name = '' } = metadata;
  if (!Array.isArray(uris) || uris.length === 0)
    throw new OauthError('invalid_redirect_uri', 'redirect_uris: at least one is needed');
  if (uris.length > MOST_REDIRECT_URIS)
    throw new OauthError('invalid_redirect_uri', `redirect_uris: at most ${MOST_REDIRECT_URIS}`);
  for (const [i, uri] of uris.entries()) {
    const fault = typeof uri === 'string' ? redirectUriFault(uri) : 'must be a text';
    if (fault !== undefined) throw new OauthError('invalid_redirect_uri', `redirect_uris[${i}]: ${fault}`);
  }
  if (uris.join('').length > MOST_URI_CHARS)
    throw new OauthError(
      'invalid_redirect_uri',
      `redirect_uris: at most ${MOST_URI_CHARS} characters in all`,
    );
  if (typeof name !== 'string')
    throw new OauthError('invalid_client_metadata', 'client_name: must be a text');
  includes(metadata, 'grant_types', 'authorization_code');
  includes(metadata, 'response_types', 'code');
  return { name: shownName(name), redirectUris: [...new Set(uris as string[])] };
}

/** A list that is given must have what this server does. */
function includes(metadata: Readonly<Record<string, unknown>>, member: string, needed: string): void {
  const list = metadata[member];
  if (list === undefined || (Array.isArray(list) && list.includes(needed))) return;
  throw new OauthError('invalid_client_metadata', `${member}: must have ${needed}`);
}

/** A name as it may stand on a page: no control characters, nothing that turns the direction of writing. */
export function shownName(text: string): string {
  const plain = text
    .toWellFormed()
    .replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ')
    .replace(/\s+/g, ' ')
    .trim();
  return [...plain].slice(0, MOST_NAME).join('');
}
