// The credentials that sign a call to AWS: keys of the reference, the gateway's own, or an assumed role's.
import { readFile } from 'node:fs/promises';
import type { AbortLike } from '../../lib/abort.ts';
import { type AwsCredentials, signed } from '../../lib/aws-signature.ts';
import { secretFailure } from '../failure.ts';
import { type Lease, Leases } from '../leases.ts';
import type { AuthConfig, ManagerDeps } from '../manager.ts';
import { ask, form } from '../request.ts';

/** Gives the credentials of a reference. */
export type AwsCredentialsOf = (
  auth: AuthConfig,
  region: string,
  signal: AbortLike,
) => Promise<AwsCredentials>;

const SESSION = 'sluice-gateway';
const VERSION = '2011-06-15';

/**
 * `accessKey`: the reference's keys. `serviceRole`: the process's own, from AWS_ACCESS_KEY_ID and
 * AWS_SECRET_ACCESS_KEY (AWS_SESSION_TOKEN), or from AWS_ROLE_ARN and AWS_WEB_IDENTITY_TOKEN_FILE, as clusters set
 * them; metadata services are never asked, because no call to their addresses leaves this process. `assumedRole`:
 * either of the two, exchanged by STS.
 */
export function awsCredentials(deps: ManagerDeps): AwsCredentialsOf {
  const { environment, now } = deps;
  const leases = new Leases<AwsCredentials>(now);

  async function own(region: string, signal: AbortLike): Promise<AwsCredentials> {
    const { AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_SESSION_TOKEN } = environment;
    if (AWS_ACCESS_KEY_ID && AWS_SECRET_ACCESS_KEY)
      return {
        accessKeyId: AWS_ACCESS_KEY_ID,
        secretAccessKey: AWS_SECRET_ACCESS_KEY,
        sessionToken: AWS_SESSION_TOKEN || undefined,
      };
    const { AWS_ROLE_ARN, AWS_WEB_IDENTITY_TOKEN_FILE } = environment;
    if (!AWS_ROLE_ARN || !AWS_WEB_IDENTITY_TOKEN_FILE)
      throw secretFailure('invalid', 'the gateway has no AWS credentials of its own in its environment');
    return leases.get(['own', region], async () =>
      exchange(region, signal, {
        Action: 'AssumeRoleWithWebIdentity',
        RoleArn: AWS_ROLE_ARN,
        WebIdentityToken: (await readFile(AWS_WEB_IDENTITY_TOKEN_FILE, 'utf8')).trim(),
      }),
    );
  }

  async function exchange(
    region: string,
    signal: AbortLike,
    fields: Readonly<Record<string, string | undefined>>,
    signer?: AwsCredentials,
  ): Promise<Lease<AwsCredentials>> {
    const url = endpointOf(environment, 'sts', region);
    const { headers, body } = form({ ...fields, Version: VERSION, RoleSessionName: SESSION });
    const plain = { 'content-type': headers[1]! };
    const order = { method: 'POST' as const, url, body };
    const all =
      signer === undefined
        ? headers
        : await signed({ ...order, headers: plain, region, service: 'sts', credentials: signer, at: now() });
    const reply = await ask(deps.dialer, { ...order, headers: all, signal });
    const element = (name: string) => new RegExp(`<${name}>([^<>&]+)</${name}>`).exec(reply.text)?.[1];
    const [accessKeyId, secretAccessKey] = [element('AccessKeyId'), element('SecretAccessKey')];
    if (reply.status !== 200 || accessKeyId === undefined || secretAccessKey === undefined)
      throw secretFailure(
        reply.status === 403 ? 'denied' : 'invalid',
        `AWS STS does not let the role be assumed (${reply.status})`,
      );
    const ends = Date.parse(element('Expiration') ?? '');
    return {
      token: { accessKeyId, secretAccessKey, sessionToken: element('SessionToken') },
      expiresAt: Number.isNaN(ends) ? now() + 900_000 : ends,
    };
  }

  return async (auth, region, signal) => {
    const { aws_access_key_id: accessKeyId, aws_secret_access_key: secretAccessKey } = auth;
    const sessionToken = auth.aws_session_token;
    const keys = accessKeyId && secretAccessKey ? { accessKeyId, secretAccessKey, sessionToken } : undefined;
    if (auth.aws_auth_type !== 'assumedRole') return keys ?? own(region, signal);
    const fields = {
      Action: 'AssumeRole',
      RoleArn: auth.aws_role_arn,
      ExternalId: auth.aws_external_id,
      DurationSeconds: '3600',
    };
    return leases.get([auth, region], async () =>
      exchange(region, signal, fields, keys ?? (await own(region, signal))),
    );
  };
}

const REGION = /^[a-z]{2}(?:-[a-z]+)+-\d{1,2}$/;

/** Where a service is; AWS's own variables (AWS_ENDPOINT_URL_STS and the like) may say otherwise. */
export function endpointOf(
  environment: ManagerDeps['environment'],
  service: 'sts' | 'secretsmanager',
  region: string,
): URL {
  // A region becomes part of a host's name.
  if (!REGION.test(region)) throw secretFailure('invalid', 'auth_config.aws_region: is no region of AWS');
  const { AWS_ENDPOINT_URL_STS, AWS_ENDPOINT_URL_SECRETS_MANAGER } = environment;
  const given = service === 'sts' ? AWS_ENDPOINT_URL_STS : AWS_ENDPOINT_URL_SECRETS_MANAGER;
  const suffix = region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com';
  return new URL(given || `https://${service}.${region}.${suffix}/`);
}
