// A call as planning sees it.
import type { Call } from '../../call/call.ts';
import type { TenantScope } from '../../call/scope.ts';

/** What planning reads of a call, and the record that it fills. */
export type PlannedCall = Pick<
  Call,
  | 'headers'
  | 'presentedKey'
  | 'providerCredential'
  | 'principal'
  | 'record'
  | 'defaultMetadata'
  | 'clientMetadata'
>;

/** The scope of a call without a principal: no slug is in it. */
export const NO_TENANT: TenantScope = Object.freeze({ organisationId: '', workspaceId: undefined });
