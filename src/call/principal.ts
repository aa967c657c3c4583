// Who a call is made by.
import type { TokenGrant } from './grant.ts';

/** The kinds of API keys, as they are named in responses. */
export type KeyKind = 'organisation-service' | 'workspace-service' | 'workspace-user';

/** The authenticated caller. */
export interface Principal {
  readonly organisationId: string;
  /** Undefined for organisation-wide keys. */
  readonly workspaceId: string | undefined;
  /** The workspace is not the key's: the call names it. */
  readonly visiting?: boolean;
  /** Whose key or token it is; undefined for services. */
  readonly userId?: string | undefined;
  readonly keyId: string;
  readonly keyName: string;
  readonly kind: KeyKind;
  readonly scopes: ReadonlySet<string>;
  /** What came with a token (JWT); undefined for API keys. */
  readonly token?: TokenGrant | undefined;
}
