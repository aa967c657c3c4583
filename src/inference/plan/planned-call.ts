// A call as planning sees it.
import type { GatewayHeaders } from '../../lib/gateway-headers.ts';
import type { Caller, Tenant } from './plan-deps.ts';

/** What planning reads of a call, and what it notes on it. */
export interface PlannedCall {
  readonly headers: GatewayHeaders;
  readonly presentedKey: string | undefined;
  readonly providerCredential: string | undefined;
  readonly principal: Caller | undefined;
  readonly record: {
    provider: string;
    metadata: Readonly<Record<string, string>>;
    /** The saved config's slug. */
    config?: string | undefined;
  };
  /** Wins over the request's own. */
  readonly defaultMetadata?: Readonly<Record<string, string>> | undefined;
}

/** Whose slugs a call without a principal knows: nobody's. */
export const NOBODY: Tenant = Object.freeze({ organisationId: '', workspaceId: undefined });
