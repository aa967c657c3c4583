// One kind of identity: what it is made with, and what it puts on a request.
import type { Dialer, OutboundRequest } from '../../lib/egress/outbound.ts';
import type { BoundTarget } from '../plan/bind.ts';

/** As GATEWAY_SECRET_OWN_IDENTITY names a cloud's model services. */
export type OwnIdentity = 'bedrock' | 'azure' | 'vertex';

/** What credentials are made with. */
export interface CredentialDeps {
  readonly dialer: Pick<Dialer, 'whole'>;
  /** The process's own environment, for its own identity. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The clouds that stored providers may call with the process's own identity. */
  readonly ownIdentity: readonly string[];
  /** Folders whose files credentials may name. */
  readonly fileAllow: readonly string[];
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** What an identity puts on a request, in place of what the caller sent there. */
export interface Proof {
  /** Flat pairs. */
  readonly headers: readonly string[];
  /** The request's body, where it had to be read. */
  readonly body?: string | Uint8Array;
}

/** One kind of identity. */
export type Identity = (bound: BoundTarget, request: OutboundRequest) => Promise<Proof> | undefined;
