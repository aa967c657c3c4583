import test from 'ava';
import { targetFieldOf, withSecrets } from '../../src/secrets/mappings.ts';
import { secretsBench } from './bench.ts';

test('secrets are put in their places, and nothing else changes', async (t) => {
  const environment = { KEY: 'sk-1', MANY: '{"secret":"s","account":{"a":1}}' };
  const { add, resolve, secrets } = secretsBench(t, { environment, envAllow: ['KEY', 'MANY'] });
  add('key', { managerType: 'env', path: 'KEY' });
  add('many', { managerType: 'env', path: 'MANY' });
  t.is(await resolve('key'), 'sk-1');
  const tenant = { organisationId: 'org-1', workspaceId: 'w1' };
  const fields = { key: 'inline', configurations: { aws_region: 'eu-west-1' } };
  const mapped = await withSecrets(
    fields,
    [
      { targetField: 'key', secretReferenceId: 'key' },
      { targetField: 'configurations.aws_secret_access_key', secretReferenceId: 'many', secretKey: 'secret' },
      {
        targetField: 'configurations.vertex_service_account_json',
        secretReferenceId: 'many',
        secretKey: 'account',
        valueFormat: 'json',
      },
    ],
    tenant,
    secrets.resolve,
  );
  t.deepEqual(mapped, {
    key: 'sk-1',
    configurations: {
      aws_region: 'eu-west-1',
      aws_secret_access_key: 's',
      vertex_service_account_json: { a: 1 },
    },
  });
  t.deepEqual(fields, { key: 'inline', configurations: { aws_region: 'eu-west-1' } });
  const json = [{ targetField: 'key', secretReferenceId: 'key', valueFormat: 'json' as const }];
  const error = await t.throwsAsync(withSecrets({}, json, tenant, secrets.resolve), {
    message: /is no JSON/,
  });
  t.notRegex(String(error?.stack), /sk-1/);
});

test('targets get their group, and what is none is refused', (t) => {
  t.is(targetFieldOf('key', 'configurations', true), 'key');
  t.is(targetFieldOf('key', 'configurations', false), undefined);
  t.is(targetFieldOf('aws_region', 'configurations', true), 'configurations.aws_region');
  t.is(targetFieldOf('model_config.a', 'model_config', true), 'model_config.a');
  for (const text of ['', 'a.b', 'configurations.', 'configurations.a.b', 'a b', '.a'])
    t.is(targetFieldOf(text, 'configurations', true), undefined, text);
});
