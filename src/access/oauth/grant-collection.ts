// What people have granted to clients of the authorization server, as it is stored.
import { type Collection, defineCollection } from '../../store/collection.ts';

/** A token that counts until it expires. */
export interface StoredToken {
  /** Keyed hash. */
  readonly hash: string;
  /** Unix milliseconds. */
  readonly expiresAt: number;
}

/** A code that was not redeemed yet. */
export interface StoredCode extends StoredToken {
  /** The S256 challenge (RFC 7636). */
  readonly challenge: string;
  readonly redirectUri: string;
}

/**
 * A grant: one sign-in of one client. Its document's workspace is the one that the tokens count in. It ends with the user,
 * the role and the key of the session that granted it.
 */
export interface OauthGrantBody {
  readonly clientId: string;
  /** Hash of the client's id, by which lists find it. */
  readonly clientKey: string;
  readonly clientName: string;
  /** Host that vouches for the client; absent: it registered itself. */
  readonly clientHost?: string;
  /** The client proves itself by a signed assertion whenever it asks for tokens. */
  readonly isSigned?: true;
  readonly redirectHost: string;
  readonly userId?: string;
  readonly keyId?: string;
  readonly keyHash?: string;
  readonly role?: 'owner' | 'admin' | 'member';
  /** The MCP server; absent: all of the workspace. */
  readonly serverId?: string;
  /** The client named no resource: the tokens count at each server of the workspace, and at all of them. */
  readonly isForEach?: true;
  /** The resource indicator as the client gave it (RFC 8707); the issuer where it gave none. */
  readonly resource: string;
  readonly scope: string;
  /** Absent once it was redeemed. */
  readonly code?: StoredCode;
  readonly access: readonly StoredToken[];
  readonly refreshHash?: string;
  /** The last time that tokens were given. Unix milliseconds. */
  readonly usedAt: number;
  readonly expiresAt: number;
}

export const oauthGrants: Collection<OauthGrantBody> = defineCollection<OauthGrantBody>({
  name: 'oauth_grants',
  schemaVersion: 1,
  noticed: true,
  inWorkspace: { name: 'grants of MCP clients', blocks: false },
  fields: [
    { name: 'userId', type: 'text', nullable: true },
    { name: 'keyId', type: 'text', nullable: true },
    { name: 'clientKey', type: 'text' },
    { name: 'expiresAt', type: 'integer' },
  ],
});
