// An organisation's settings for tokens, as they are stored.
import { type Collection, defineCollection } from '../../store/collection.ts';
import type { PublicJwk } from './jwk.ts';

/** Names of claims that take the place of the usual ones. A name with dots also reaches into objects. */
export interface ClaimNames {
  readonly workspace?: string;
  readonly user?: string;
  readonly role?: string;
  readonly scopes?: string;
}

/** Exactly one of `jwksUri` and `jwks` is there. */
export interface JwtSettingsBody {
  /** Where the issuer publishes its keys. */
  readonly jwksUri?: string;
  /** Public parts only. */
  readonly jwks?: { readonly keys: readonly PublicJwk[] };
  /** Accepted values of `iss`; empty: any. */
  readonly issuers: readonly string[];
  /** Accepted values of `aud`; empty: any. */
  readonly audiences: readonly string[];
  /** Accepted algorithms; empty: all that are known. */
  readonly algorithms: readonly string[];
  readonly clockSkewSeconds?: number;
  readonly claims?: ClaimNames;
  /** Tokens of other users than the directory's are refused. */
  readonly knownUsersOnly?: boolean;
  /** The owner confirmed that tokens of any issuer and for any audience are accepted. */
  readonly anyParty?: boolean;
}

/** The slug of an organisation's one document. */
export const JWT_SETTINGS = 'jwt';

export const jwtSettings: Collection<JwtSettingsBody> = defineCollection<JwtSettingsBody>({
  name: 'jwt_settings',
  schemaVersion: 1,
  unique: [{ fields: ['slug'], per: 'organisation' }],
  noticed: true,
});
