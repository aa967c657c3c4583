// Errors in this dialect (Cohere API reference, "Errors"): `{"id", "message"}`, whole and at the end of a stream.
import { fail, type GatewayError } from '../../../lib/errors.ts';

export { readErrorBody as readError } from '../../provider-error.ts';

/** The answer ended with an error of the service. */
export function failed(reason: string, message: string | undefined, provider: string): GatewayError {
  const status = reason === 'TIMEOUT' ? 504 : 502;
  return fail('upstream_status', message ?? `the provider ended the answer with ${reason}`, {
    provider,
    status,
    code: reason,
  });
}
