import { createHmac, hash } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import type { AwsCredentials } from '../../src/lib/aws-signature.ts';
import { secretsBench } from './bench.ts';
import { type Asked, fakeManager } from './fake-manager.ts';

/** Whether a request is signed with these keys: worked out anew from what arrived. */
function verifies({ method, url, headers, body }: Asked, keys: AwsCredentials, service: string): boolean {
  const [, scope = '', names = '', signature] =
    /Credential=[^/]+\/(\S+), SignedHeaders=(\S+), Signature=(\w+)$/.exec(headers.authorization ?? '') ?? [];
  if (!headers.authorization?.includes(`Credential=${keys.accessKeyId}/`)) return false;
  if (headers['x-amz-security-token'] !== keys.sessionToken) return false;
  const sha = (text: string): string => hash('sha256', text, 'hex');
  const lines = names.split(';').map((name) => `${name}:${headers[name]}`);
  const canonical = `${method}\n${url.pathname}\n\n${lines.join('\n')}\n\n${names}\n${sha(body)}`;
  const text = `AWS4-HMAC-SHA256\n${headers['x-amz-date']}\n${scope}\n${sha(canonical)}`;
  let key: Buffer | string = `AWS4${keys.secretAccessKey}`;
  for (const part of scope.split('/')) key = createHmac('sha256', key).update(part).digest();
  if (!scope.endsWith(`/${service}/aws4_request`)) return false;
  return createHmac('sha256', key).update(text).digest('hex') === signature;
}

const KEYS = { accessKeyId: 'AKIAREFERENCE', secretAccessKey: 'reference-secret' };
const ROLE = {
  accessKeyId: 'ASIAROLE',
  secretAccessKey: 'role-secret',
  sessionToken: 'role+session/token==',
};

function sts({ accessKeyId, secretAccessKey, sessionToken }: AwsCredentials): string {
  return `<R><Credentials><AccessKeyId>${accessKeyId}</AccessKeyId><SecretAccessKey>${secretAccessKey}</SecretAccessKey>
  <SessionToken>${sessionToken}</SessionToken><Expiration>${new Date(Date.now() + 3_600_000).toISOString()}</Expiration></Credentials></R>`;
}

test('a secret is read with the keys of the reference, its members by their names', async (t) => {
  const manager = await fakeManager(t, (asked) => {
    if (!verifies(asked, KEYS, 'secretsmanager'))
      return { status: 400, body: { __type: 'InvalidSignatureException' } };
    const { SecretId } = JSON.parse(asked.body);
    return SecretId === 'prod/openai'
      ? { body: { SecretString: '{"key":"sk-aws","n":7}' } }
      : { status: 400, body: { __type: 'com.amazonaws#ResourceNotFoundException', Message: 'no' } };
  });
  const environment = { AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url };
  const { add, resolve } = secretsBench(t, { environment });
  const auth = {
    aws_auth_type: 'accessKey',
    aws_access_key_id: KEYS.accessKeyId,
    aws_secret_access_key: KEYS.secretAccessKey,
    aws_region: 'eu-west-1',
  };
  add('whole', { managerType: 'aws_sm', path: 'prod/openai', auth });
  add('gone', { managerType: 'aws_sm', path: 'prod/other', auth });
  add('wrong', { managerType: 'aws_sm', path: 'x', auth: { ...auth, aws_secret_access_key: 'no' } });
  add('region', { managerType: 'aws_sm', path: 'x', auth: { ...auth, aws_region: 'evil.example.com/#' } });
  t.is(await resolve('whole', 'key'), 'sk-aws');
  t.is(await resolve('whole', 'n'), '7');
  t.is(await resolve('whole'), '{"key":"sk-aws","n":7}');
  t.is(manager.asked.length, 1);
  const missing = await t.throwsAsync(resolve('gone'), { message: /no such secret/ });
  t.is((missing as { details?: { code?: string } })?.details?.code, 'secret_missing');
  await t.throwsAsync(resolve('wrong'), { message: /InvalidSignatureException/ });
  await t.throwsAsync(resolve('region'), { message: /aws_region/ });
  await t.throwsAsync(resolve('whole', 'toString'), { message: /no such member/ });
});

test("a role is assumed with the gateway's own credentials where the operator lets it, once for many secrets", async (t) => {
  const token = join(await mkdtemp(join(tmpdir(), 'sluice-aws-')), 'token');
  await writeFile(token, 'web-identity\n');
  const own = { accessKeyId: 'ASIAOWN', secretAccessKey: 'own-secret', sessionToken: 'own-session' };
  const manager = await fakeManager(t, (asked) => {
    const fields = new URLSearchParams(asked.body);
    switch (fields.get('Action')) {
      case 'AssumeRoleWithWebIdentity':
        return fields.get('WebIdentityToken') === 'web-identity' && asked.headers.authorization === undefined
          ? { body: sts(own) }
          : { status: 403, body: '' };
      case 'AssumeRole':
        return verifies(asked, own, 'sts') && fields.get('ExternalId') === 'ours'
          ? { body: sts(ROLE) }
          : { status: 403, body: '<Error><Message>secret words</Message></Error>' };
      default:
        return verifies(asked, ROLE, 'secretsmanager')
          ? {
              body: { SecretBinary: Buffer.from(`of ${JSON.parse(asked.body).SecretId}`).toString('base64') },
            }
          : { status: 400, body: { __type: 'AccessDeniedException' } };
    }
  });
  const environment = {
    AWS_ENDPOINT_URL_SECRETS_MANAGER: manager.url,
    AWS_ENDPOINT_URL_STS: manager.url,
    AWS_ROLE_ARN: 'arn:aws:iam::1:role/gateway',
    AWS_WEB_IDENTITY_TOKEN_FILE: token,
  };
  const auth = {
    aws_auth_type: 'assumedRole',
    aws_role_arn: 'arn:aws:iam::2:role/reader',
    aws_external_id: 'ours',
    aws_region: 'us-east-1',
  };
  const closed = secretsBench(t, { environment });
  closed.add('a', { managerType: 'aws_sm', path: 'a', auth });
  await t.throwsAsync(closed.resolve('a'), { message: /aws_auth_type.*has not opened/ });
  t.is(manager.asked.length, 0);

  const { add, resolve } = secretsBench(t, { environment, ownIdentity: ['aws_sm'] });
  add('a', { managerType: 'aws_sm', path: 'a', auth });
  add('b', { managerType: 'aws_sm', path: 'b', auth });
  add('other', { managerType: 'aws_sm', path: 'b', auth: { ...auth, aws_external_id: 'theirs' } });
  t.deepEqual(await Promise.all([resolve('a'), resolve('b')]), ['of a', 'of b']);
  t.is(manager.asked.length, 4, 'one exchange each, and two secrets');
  const refused = await t.throwsAsync(resolve('other'), { message: /STS/ });
  t.notRegex(String(refused?.stack), /secret words|own-secret/);
});
