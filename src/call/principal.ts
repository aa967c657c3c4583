// The authenticated caller of a call.
import type { TokenGrant } from './grant.ts';

/** The kinds of API keys, as they are named in responses. */
export type KeyKind = 'organisation-service' | 'workspace-service' | 'workspace-user';

/** The authenticated caller. */
export interface Principal {
  readonly organisationId: string;
  /** Undefined for organisation-wide keys. */
  readonly workspaceId: string | undefined;
  /** The workspace comes from the call, not from the key. */
  readonly visiting?: boolean;
  /** The person that the key or token belongs to; undefined for services. */
  readonly userId?: string | undefined;
  readonly keyId: string;
  readonly keyName: string;
  readonly kind: KeyKind;
  /** The session of the console that calls. */
  readonly sessionId?: string | undefined;
  readonly scopes: ReadonlySet<string>;
  /** The grant of a token (JWT); undefined for API keys. */
  readonly token?: TokenGrant | undefined;
}
