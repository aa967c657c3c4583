// The signature itself (RFC 7515, part 5.2): the one expensive step.
import { compactVerify } from 'jose';
import type { VerificationKey } from './jwk.ts';
import type { UnverifiedToken } from './read-token.ts';
import { refused } from './refused.ts';

/** The key was picked for the header's algorithm; no other one is taken. @throws GatewayError unauthenticated. */
export async function verifySignature(
  { text, header }: UnverifiedToken,
  { key }: VerificationKey,
): Promise<void> {
  try {
    await compactVerify(text, key, { algorithms: [header.algorithm] });
  } catch {
    throw refused("the token's signature is not valid");
  }
}
