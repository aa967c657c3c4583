// The stage between a located request and its provider: what proves who calls is made for this very request, where a
// provider wants more than a key. Tokens are fetched once for all calls that wait for them, and refreshed early.
import { headerWithout } from '../../lib/egress/header-pairs.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import type { BoundTarget } from '../plan/bind.ts';
import { awsSigner } from './aws.ts';
import { azureIdentity } from './azure.ts';
import { googleTokens } from './google.ts';
import type { CredentialDeps, Identity } from './identity.ts';
import { oracleSigner } from './oracle.ts';

/** Makes credentials of requests. */
export interface Credentials {
  /**
   * The request with its credential in it; undefined where it has all that it needs.
   * @throws GatewayError (rejected) invalid_header naming the option that is missing or malformed, upstream_status for
   * an identity that is refused, upstream_unreachable and its like
   */
  authorised(bound: BoundTarget, request: OutboundRequest): Promise<OutboundRequest> | undefined;
}

/** Headers that prove who calls. */
const PROOFS = ['authorization', 'api-key', 'x-amz-date', 'x-amz-security-token', 'x-amz-content-sha256'];

/** Credentials of all providers. */
export function createCredentials(deps: CredentialDeps): Credentials {
  const identities: Readonly<Record<string, Identity | undefined>> = {
    google: googleTokens(deps),
    aws: awsSigner(deps),
    azure: azureIdentity(deps),
    'azure-foundry': azureIdentity(deps),
    oracle: oracleSigner(deps.now),
  };
  return {
    authorised(bound, request) {
      const { auth } = bound.target.provider;
      const identity = typeof auth === 'string' ? identities[auth] : undefined;
      const proof = identity?.(bound, request);
      return proof?.then(({ headers, body = request.body }) => ({
        ...request,
        body: request.body === undefined ? undefined : body,
        headers: replaced(request.headers, headers),
      }));
    },
  };
}

function replaced(headers: readonly string[], proof: readonly string[]): readonly string[] {
  const names = new Set([...PROOFS, ...proof.filter((_, i) => i % 2 === 0)]);
  return [...headerWithout(headers, names), ...proof];
}
