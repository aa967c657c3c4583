// Signature Version 4 of a request, with static keys, an assumed role's or the gateway's own.
import { Aborter } from '../../lib/abort.ts';
import { type AwsCredentials, signed } from '../../lib/aws-signature.ts';
import { headerIn } from '../../lib/egress/header-pairs.ts';
import type { OutboundRequest } from '../../lib/egress/outbound.ts';
import { fail } from '../../lib/errors.ts';
import type { Target } from '../../providers/dialect.ts';
import { optionError } from '../../providers/options/named.ts';
import { type AwsCredentialsOf, awsCredentials } from '../../secrets/aws/credentials.ts';
import { faultOf } from '../../secrets/failure.ts';
import { arriving } from '../pipeline/arriving.ts';
import type { BoundTarget } from '../plan/bind.ts';
import type { CredentialDeps, Identity, Proof } from './identity.ts';
import { checkOwnIdentity } from './own-identity.ts';
import { wholeBody } from './whole-body.ts';

/** Whom a signature is for, where the provider does not say. */
const SERVICE = 'bedrock';
const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/;
/** How long a role's keys may be waited for. */
const DEADLINE_MS = 10_000;

/**
 * By `aws_auth_type`: `accessKey` signs with the given keys, `assumedRole` with those of a role, `serviceRole` with the
 * gateway's own, `apiKey` sends the key as it is. Without it keys sign where there are some, and a key alone is sent.
 */
export function awsSigner(deps: CredentialDeps): Identity {
  const rolesOf = awsCredentials(deps);
  return (bound, request) => {
    const { options, provider } = bound.target;
    const { aws_auth_type: type, aws_access_key_id: id, aws_secret_access_key: secret } = options;
    if (type === 'apiKey' || (type === undefined && !id && !secret)) return undefined;
    const region = regionOf(bound.target);
    const credentials =
      type === 'assumedRole' || type === 'serviceRole'
        ? arriving(roleOf(deps, rolesOf, bound, region), request.signal)
        : Promise.resolve(staticKeys(bound.target));
    return credentials.then((given) =>
      proofOf(request, region, provider.signsFor ?? SERVICE, given, deps.now()),
    );
  };
}

function staticKeys({ provider, options }: Target): AwsCredentials {
  const {
    aws_access_key_id: accessKeyId,
    aws_secret_access_key: secretAccessKey,
    aws_session_token: sessionToken,
  } = options;
  if (!accessKeyId)
    throw optionError(provider, 'aws_access_key_id', 'is required with aws_secret_access_key');
  if (!secretAccessKey)
    throw optionError(provider, 'aws_secret_access_key', 'is required with aws_access_key_id');
  if (!/^[A-Za-z0-9]{1,128}$/.test(accessKeyId))
    throw optionError(provider, 'aws_access_key_id', 'must be letters and digits');
  return { accessKeyId, secretAccessKey, sessionToken };
}

/** The region is part of what is signed, also where a custom host makes it unnecessary for the address. */
function regionOf({ provider, options: { aws_region: region = '' } }: Target): string {
  if (!REGION.test(region))
    throw optionError(provider, 'aws_region', 'must be a region of AWS, e.g. us-east-1');
  return region;
}

/** Keys that end. The wait for them belongs to all calls that need them, so that none of them ends it by leaving. */
async function roleOf(
  deps: CredentialDeps,
  rolesOf: AwsCredentialsOf,
  bound: BoundTarget,
  region: string,
): Promise<AwsCredentials> {
  const { options, provider } = bound.target;
  const keyless = !options.aws_access_key_id && !options.aws_secret_access_key;
  if (options.aws_auth_type === 'assumedRole' && !options.aws_role_arn)
    throw optionError(provider, 'aws_role_arn', 'is required with assumedRole');
  if (options.aws_auth_type === 'serviceRole' || keyless)
    checkOwnIdentity(deps, bound, 'bedrock', 'aws_auth_type');
  if (!keyless) staticKeys(bound.target);
  const aborter = new Aborter();
  const late = fail('upstream_timeout', `AWS STS gave no keys within ${DEADLINE_MS / 1000} seconds`);
  const timer = setTimeout(() => aborter.abort(late), DEADLINE_MS);
  const auth = Object.fromEntries(
    Object.entries(options).filter(([name]) => !(options.aws_auth_type === 'serviceRole' && isKey(name))),
  );
  try {
    return await rolesOf(auth, region, aborter);
  } catch (error) {
    if (aborter.aborted) throw late;
    const fault = faultOf(error);
    if (fault === 'outage') throw fail('upstream_unreachable', 'AWS STS does not answer', { cause: error });
    throw fail('upstream_status', 'AWS STS does not let the role be assumed', {
      status: 403,
      code: 'role_refused',
      cause: error,
    });
  } finally {
    clearTimeout(timer);
  }
}

function isKey(name: string): boolean {
  return name === 'aws_access_key_id' || name === 'aws_secret_access_key' || name === 'aws_session_token';
}

async function proofOf(
  request: OutboundRequest,
  region: string,
  service: string,
  credentials: AwsCredentials,
  at: number,
): Promise<Proof> {
  const body = await wholeBody(request.body);
  const type = headerIn(request.headers, 'content-type');
  const headers = await signed({
    method: request.method,
    body,
    region,
    service,
    credentials,
    at,
    url: new URL(request.origin + request.path),
    headers: type === undefined ? {} : { 'content-type': type },
  });
  return { headers, body };
}
