// What a verified token grants its bearer.

/** Roles in a workspace. */
export type TokenRole = 'admin' | 'manager' | 'member';

/** A limit that a token carries, with the members that the admin API has for it. */
export type TokenLimit = { readonly [name: string]: string | number };

/** What calls of a token start with. */
export interface TokenDefaults {
  /** A saved config; counts only when it belongs to the organisation. */
  readonly configId: string | undefined;
  readonly metadata: Readonly<Record<string, string>>;
}

/** A token's claims, read. */
export interface TokenGrant {
  readonly organisationId: string;
  /** Id or slug. */
  readonly workspace: string;
  /** The user as the issuer names them; of the directory or not. */
  readonly user: string | undefined;
  readonly role: TokenRole | undefined;
  /** Without prefixes; also those that no key may hold. */
  readonly scopes: readonly string[];
  readonly defaults: TokenDefaults;
  /** As workspaces and keys keep theirs; counted for this token alone. */
  readonly usageLimits: readonly TokenLimit[] | undefined;
  readonly rateLimits: readonly TokenLimit[] | undefined;
}
