// The refusal of an answer that a guardrail must see and cannot.
import { fail, type GatewayError } from '../../lib/errors.ts';

/** @param why in words that follow "and" */
export function unseen(why: string): GatewayError {
  return fail(
    'forbidden',
    `the provider's answer is not passed on: a guardrail must see every answer, and ${why}; ask for a whole answer, or use the gateway's own operations`,
  );
}
