// Why a secret cannot be read. A manager's answer is never repeated: it may hold what was sent to it.
import { fail, GatewayError } from '../lib/errors.ts';

/**
 * `outage`: the manager does not answer, or not now; `denied`: it refuses access (403 and its like); `missing`: there
 * is no such secret or member (404); `invalid`: the reference cannot work as it is, or the answer is no secret;
 * `closed`: the operator has not opened the way.
 */
export type SecretFault = 'outage' | 'denied' | 'missing' | 'invalid' | 'closed';

const PREFIX = 'secret_';

/** The error; its code is the fault's name with `secret_` before it. */
export function secretFailure(fault: SecretFault, message: string, cause?: unknown): GatewayError {
  return fail('secret_unavailable', message, { code: `${PREFIX}${fault}`, cause });
}

/** The fault of an error that came up while a secret was read; whatever is none of ours is an outage. */
export function faultOf(error: unknown): SecretFault {
  if (!(error instanceof GatewayError)) return 'outage';
  if (error.reason === 'host_refused' || error.reason === 'validation_failed') return 'invalid';
  const fault = error.details.code?.slice(PREFIX.length);
  return error.reason === 'secret_unavailable' && isFault(fault) ? fault : 'outage';
}

/**
 * Whether a manager says clearly that the secret may not be had any more: it refuses access, or has no such secret.
 * Every other answer says something of the manager, and nothing of the secret.
 */
export function isRefusal(error: unknown): boolean {
  return ['denied', 'missing', 'closed'].includes(faultOf(error));
}

function isFault(text: string | undefined): text is SecretFault {
  return text !== undefined && ['outage', 'denied', 'missing', 'invalid', 'closed'].includes(text);
}
