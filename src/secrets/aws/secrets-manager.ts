// AWS Secrets Manager: https://docs.aws.amazon.com/secretsmanager/latest/apireference/API_GetSecretValue.html
import { signed } from '../../lib/aws-signature.ts';
import { secretFailure } from '../failure.ts';
import type { ManagerDeps, SecretManager } from '../manager.ts';
import { ask, member, type Reply } from '../request.ts';
import { awsCredentials, endpointOf } from './credentials.ts';

/** AWS refuses with a status of 400 and a name: access, or the key that signed. */
const REFUSALS =
  /^(?:AccessDenied|UnrecognizedClient|InvalidClientTokenId|NotAuthorized|DecryptionFailure|KMSAccessDenied)/;
const OUTAGES = /^(?:Throttling|InternalService|InternalFailure|RequestLimitExceeded|ServiceUnavailable)/;

/** The path is the secret's name or ARN. */
export function awsSecretsManager(deps: ManagerDeps): SecretManager {
  const credentialsOf = awsCredentials(deps);
  return {
    async read({ auth, path }, signal) {
      const { AWS_REGION, AWS_DEFAULT_REGION } = deps.environment;
      const region = auth.aws_region || AWS_REGION || AWS_DEFAULT_REGION || '';
      const url = endpointOf(deps.environment, 'secretsmanager', region);
      const credentials = await credentialsOf(auth, region, signal);
      const body = JSON.stringify({ SecretId: path });
      const headers = await signed({
        method: 'POST',
        url,
        body,
        headers: {
          'content-type': 'application/x-amz-json-1.1',
          'x-amz-target': 'secretsmanager.GetSecretValue',
        },
        region,
        service: 'secretsmanager',
        credentials,
        at: deps.now(),
      });
      const reply = await ask(deps.dialer, { method: 'POST', url, headers, body, signal });
      if (reply.status !== 200) throw refusal(reply);
      const text = member(reply.json, 'SecretString');
      if (typeof text === 'string') return text;
      const binary = member(reply.json, 'SecretBinary');
      if (typeof binary === 'string') return Buffer.from(binary, 'base64').toString('utf8');
      throw secretFailure('outage', 'AWS Secrets Manager answers with something else than a secret');
    },
  };
}

/** AWS names what is wrong in `__type`, with or without a namespace. */
function refusal({ status, json }: Reply): Error {
  const type = /(?:^|#)([A-Za-z]{1,64})$/.exec(String(member(json, '__type')))?.[1] ?? 'an error';
  if (type === 'ResourceNotFoundException')
    return secretFailure('missing', 'AWS Secrets Manager has no such secret');
  if (OUTAGES.test(type)) return secretFailure('outage', `AWS Secrets Manager answers ${type}`);
  const refused = status === 403 || status === 404 || REFUSALS.test(type);
  return secretFailure(refused ? 'denied' : 'invalid', `AWS Secrets Manager refuses: ${type}`);
}
