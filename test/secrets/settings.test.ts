import test from 'ava';
import { readSettings } from '../../src/settings.ts';

test('what secret references may read is listed exactly, and nothing else of the environment is kept', (t) => {
  const settings = readSettings({
    GATEWAY_SECRET_ENV_ALLOW: 'OPENAI_KEY, OTHER_KEY',
    GATEWAY_SECRET_FILE_ALLOW: '/run/secrets,/etc/keys',
    GATEWAY_SECRET_OWN_IDENTITY: 'aws_sm,azure_kv',
    GATEWAY_SECRET_TTL: '60',
    OPENAI_KEY: 'sk-1',
    GATEWAY_ENCRYPTION_KEY: '',
    AWS_REGION: 'eu-west-1',
    HOME: '/root',
  });
  t.deepEqual(settings.secretEnvAllow, ['OPENAI_KEY', 'OTHER_KEY']);
  t.deepEqual(settings.secretFileAllow, ['/run/secrets', '/etc/keys']);
  t.deepEqual(settings.secretOwnIdentity, ['aws_sm', 'azure_kv']);
  t.is(settings.secretTtlMs, 60_000);
  t.deepEqual(settings.secretEnvironment, { AWS_REGION: 'eu-west-1', OPENAI_KEY: 'sk-1' });
  const none = readSettings({});
  t.deepEqual([none.secretEnvAllow, none.secretFileAllow, none.secretOwnIdentity], [[], [], []]);
  t.is(none.secretTtlMs, 300_000);
});

test('a bad list names its variable', (t) => {
  for (const [name, value] of [
    ['GATEWAY_SECRET_ENV_ALLOW', 'OPENAI_*'],
    ['GATEWAY_SECRET_ENV_ALLOW', 'A,,B'],
    ['GATEWAY_SECRET_FILE_ALLOW', 'relative'],
    ['GATEWAY_SECRET_FILE_ALLOW', '/'],
    ['GATEWAY_SECRET_OWN_IDENTITY', 'gcp_sm'],
    ['GATEWAY_SECRET_TTL', '0'],
  ] as const)
    t.throws(() => readSettings({ [name]: value }), { message: new RegExp(name) }, `${name}=${value}`);
});
