// Who a call is made by.

/** The kinds of API keys, as they are named in responses. */
export type KeyKind = 'organisation-service' | 'workspace-service' | 'workspace-user';

/** The authenticated caller. */
export interface Principal {
  readonly organisationId: string;
  /** Undefined for organisation-wide keys. */
  readonly workspaceId: string | undefined;
  readonly keyId: string;
  readonly keyName: string;
  readonly kind: KeyKind;
  readonly scopes: ReadonlySet<string>;
}
