// Where an organisation's verification keys come from: its settings, or its issuer.
import type { Algorithm } from './algorithms.ts';
import type { VerificationKey } from './jwk.ts';
import type { KeySet } from './key-set.ts';
import { refused } from './refused.ts';

export interface KeySource {
  /**
   * The key that a token's header names.
   * @throws GatewayError unauthenticated when there is none; key_set_unavailable when that cannot be told.
   */
  find(algorithm: Algorithm, kid: string | undefined): Promise<VerificationKey>;
  /** Whether the key of a token that was verified before still counts. */
  holds(thumbprint: string): boolean;
}

/** Keys that are given in the settings. */
export function inlineKeys(set: KeySet): KeySource {
  return {
    async find(algorithm, kid) {
      const key = set.find(algorithm, kid);
      if (key === undefined) throw keyNotFound();
      return key;
    },
    holds: (thumbprint) => set.holds(thumbprint),
  };
}

export function keyNotFound() {
  return refused('the signing key of the token is not found');
}
