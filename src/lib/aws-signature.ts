// AWS Signature Version 4, for requests whose body is at hand:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_sigv-create-signed-request.html
import type { SignOrder } from './aws-signer.ts';
import { fail } from './errors.ts';

export type { AwsCredentials, SignOrder } from './aws-signer.ts';

/** More than any call of AWS has: the library's time grows with their square, and 4000 take two seconds. */
const MOST_PARAMETERS = 256;

/**
 * The given headers, the date and the signature as flat pairs; host is the connection's to send. The library loads with
 * the first signature.
 * @throws GatewayError `validation_failed` for a query with too many parameters
 */
export async function signed(order: SignOrder): Promise<string[]> {
  if (order.url.search !== '' && order.url.searchParams.size > MOST_PARAMETERS)
    throw fail(
      'validation_failed',
      `the query of a request that is signed for AWS may have at most ${MOST_PARAMETERS} parameters`,
      { param: 'query' },
    );
  const { sign } = await import('./aws-signer.ts');
  return sign(order);
}
