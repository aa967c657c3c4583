import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { secretsBench } from './bench.ts';
import { type Answered, type Asked, fakeManager } from './fake-manager.ts';

/** Both engines, two logins; tokens are the role's name and how often it logged in. */
function vault() {
  const valid = new Set(['root-token']);
  let logins = 0;
  const answer = ({ method, url, headers, body }: Asked): Answered => {
    if (headers['x-vault-request'] !== 'true') return { status: 412, body: {} };
    const login = /^\/v1\/auth\/(approle|kubernetes)\/login$/.exec(url.pathname)?.[1];
    if (login !== undefined && method === 'POST') {
      const given = JSON.parse(body);
      const good =
        login === 'approle'
          ? given.role_id === 'role' && given.secret_id === 'id-secret'
          : given.role === 'gateway' && given.jwt === 'pod-token';
      if (!good) return { status: 400, body: { errors: ['invalid secret id id-secret'] } };
      const token = `${login}-${++logins}`;
      valid.add(token);
      return { body: { auth: { client_token: token, lease_duration: 3600 } } };
    }
    if (!valid.has(String(headers['x-vault-token']))) return { status: 403, body: {} };
    if (url.pathname === '/v1/secret/data/my%20app')
      return { body: { data: { data: { key: 'v2', of: headers['x-vault-namespace'] }, metadata: {} } } };
    if (url.pathname === '/v1/kv/app') return { body: { data: { key: 'v1', data: 'a member' } } };
    if (url.pathname === '/v1/secret/data/deleted') return { body: { data: { data: null, metadata: {} } } };
    return { status: 404, body: { errors: [] } };
  };
  return { answer, valid, logins: () => logins };
}

test('both engines are read with a token', async (t) => {
  const { answer } = vault();
  const { url } = await fakeManager(t, answer);
  const { add, resolve } = secretsBench(t);
  const auth = {
    vault_auth_type: 'token',
    vault_addr: url,
    vault_token: 'root-token',
    vault_namespace: 'team',
  };
  const reference = (path: string) => ({ managerType: 'hashicorp_vault' as const, path, auth });
  add('two', reference('/secret/data/my app'));
  add('one', { ...reference('kv/app'), key: 'data' });
  add('gone', reference('secret/data/nothing'));
  add('deleted', reference('secret/data/deleted'));
  add('out', reference('secret/../../sys/seal-status'));
  add('stranger', { ...reference('kv/app'), auth: { ...auth, vault_token: 'nobody' } });
  t.is(await resolve('two', 'key'), 'v2');
  t.is(await resolve('two', 'of'), 'team');
  t.is(await resolve('one'), 'a member');
  t.is(await resolve('one', 'key'), 'v1');
  await t.throwsAsync(resolve('gone'), { message: /no such secret/ });
  await t.throwsAsync(resolve('deleted'), { message: /deleted/ });
  await t.throwsAsync(resolve('out'), { message: /secret_path/ });
  await t.throwsAsync(resolve('stranger'), { message: /refuses access/ });
});

test('AppRole logs in once, and again when its token was revoked', async (t) => {
  const { answer, valid, logins } = vault();
  const { url } = await fakeManager(t, answer);
  const { secrets, add } = secretsBench(t);
  const auth = {
    vault_auth_type: 'approle',
    vault_addr: url,
    vault_role_id: 'role',
    vault_secret_id: 'id-secret',
  };
  const reference = add('app', { managerType: 'hashicorp_vault', path: 'kv/app', auth });
  await secrets.test(reference);
  await secrets.test(reference);
  t.is(logins(), 1);
  valid.clear();
  await secrets.test(reference);
  t.is(logins(), 2);
  const wrong = add('wrong', { ...reference.body, auth: { ...auth, vault_role_id: 'other' } });
  const error = await t.throwsAsync(secrets.test(wrong), { message: /refuses the login by approle/ });
  t.notRegex(String(error?.stack), /id-secret/);
});

test("a pod's token goes to the operator's own Vault only", async (t) => {
  const { answer } = vault();
  const { url } = await fakeManager(t, answer);
  const elsewhere = await fakeManager(t, () => ({ body: {} }));
  const kubernetesToken = join(await mkdtemp(join(tmpdir(), 'sluice-pod-')), 'token');
  await writeFile(kubernetesToken, 'pod-token\n');
  const { add, resolve } = secretsBench(t, {
    kubernetesToken,
    ownIdentity: ['hashicorp_vault'],
    environment: { VAULT_ADDR: url },
  });
  const auth = { vault_auth_type: 'kubernetes', vault_addr: url, vault_role: 'gateway' };
  add('pod', { managerType: 'hashicorp_vault', path: 'kv/app', auth });
  add('thief', {
    managerType: 'hashicorp_vault',
    path: 'kv/app',
    auth: { ...auth, vault_addr: elsewhere.url },
  });
  t.is(await resolve('pod', 'key'), 'v1');
  await t.throwsAsync(resolve('thief'), { message: /vault_addr.*own Vault/ });
  t.is(elsewhere.asked.length, 0);
});
