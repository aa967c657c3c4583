// Why tokens are refused. No message holds a part of the token: they are answered, logged and audited.
import { fail, type GatewayError } from '../../lib/errors.ts';

/** The token is not valid: 401. */
export function refused(message: string): GatewayError {
  return fail('unauthenticated', message);
}

/** The token is valid, and not good for this: 403. */
export function notAllowed(message: string): GatewayError {
  return fail('forbidden', message);
}
