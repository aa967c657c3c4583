import { generateKeyPairSync } from 'node:crypto';
import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { jwtVerify } from 'jose';
import { isAzureVault } from '../../src/secrets/azure/key-vault.ts';
import { secretsBench } from './bench.ts';
import { type Answered, type Asked, fakeManager } from './fake-manager.ts';

/** Entra, a managed identity's endpoint and a vault in one; the token says who logged in. */
function azure({ method, url, headers, body }: Asked): Answered {
  if (url.pathname === '/tenant-1/oauth2/v2.0/token' && method === 'POST') {
    const fields = Object.fromEntries(new URLSearchParams(body));
    const good =
      fields.scope === 'https://vault.azure.net/.default' &&
      (fields.client_secret === 'entra-secret' || fields.client_assertion === 'federated');
    return good
      ? { body: { access_token: `token-of-${fields.client_id}`, expires_in: 3600 } }
      : { status: 401, body: { error_description: 'bad entra-secret' } };
  }
  if (url.pathname === '/msi/token' && headers['x-identity-header'] === 'proof')
    return {
      body: { access_token: 'token-of-platform', expires_on: `${Math.floor(Date.now() / 1000) + 3600}` },
    };
  if (url.pathname === '/secrets/openai' && url.searchParams.get('api-version') === '7.4')
    return /^Bearer token-of-/.test(headers.authorization ?? '')
      ? { body: { value: `sk for ${headers.authorization?.slice(16)}` } }
      : { status: 401, body: {} };
  return { status: 404, body: {} };
}

const ENTRA = {
  azure_auth_mode: 'entra',
  azure_entra_tenant_id: 'tenant-1',
  azure_entra_client_id: 'client-1',
  azure_entra_client_secret: 'entra-secret',
};

test("Key Vault is read with the reference's client", async (t) => {
  const { url } = await fakeManager(t, azure);
  const { add, resolve } = secretsBench(t, { environment: { AZURE_AUTHORITY_HOST: url } });
  const auth = { ...ENTRA, azure_vault_url: url };
  add('good', { managerType: 'azure_kv', path: 'openai', auth });
  add('gone', { managerType: 'azure_kv', path: 'other', auth });
  add('wrong', {
    managerType: 'azure_kv',
    path: 'openai',
    auth: { ...auth, azure_entra_client_secret: 'no' },
  });
  t.is(await resolve('good'), 'sk for client-1');
  await t.throwsAsync(resolve('gone'), { message: /no such secret/ });
  const error = await t.throwsAsync(resolve('wrong'), { message: /gives no token/ });
  t.notRegex(String(error?.stack), /entra-secret/);
});

test("the gateway's own Azure identity, by platform, by federation and by secret", async (t) => {
  const { url } = await fakeManager(t, azure);
  const federated = join(await mkdtemp(join(tmpdir(), 'sluice-azure-')), 'token');
  await writeFile(federated, 'federated');
  const own = { ownIdentity: ['azure_kv' as const], isAzureVault: () => true };
  const base = { AZURE_AUTHORITY_HOST: url, AZURE_TENANT_ID: 'tenant-1', AZURE_CLIENT_ID: 'own' };
  const read = (environment: Record<string, string>, azure_auth_mode: string, more = {}) => {
    const { add, resolve } = secretsBench(t, { ...own, environment });
    add('r', {
      managerType: 'azure_kv',
      path: 'openai',
      auth: { azure_auth_mode, azure_vault_url: url, ...more },
    });
    return resolve('r');
  };
  const platform = { IDENTITY_ENDPOINT: `${url}/msi/token`, IDENTITY_HEADER: 'proof' };
  t.is(await read(platform, 'managed'), 'sk for platform');
  const file = { ...base, AZURE_FEDERATED_TOKEN_FILE: federated };
  t.is(await read(file, 'managed', { azure_managed_client_id: 'mine' }), 'sk for mine');
  t.is(await read({ ...base, AZURE_CLIENT_SECRET: 'entra-secret' }, 'default'), 'sk for own');
  await t.throwsAsync(read({}, 'default'), { message: /no Azure identity/ });
});

test("the gateway's own token is shown to Azure's vaults only", async (t) => {
  t.true(isAzureVault('https://ours.vault.azure.net'));
  for (const url of [
    'http://ours.vault.azure.net',
    'https://vault.azure.net.example.com',
    'https://evilvault.azure.net',
    'https://vault.azure.net',
  ])
    t.false(isAzureVault(url), url);
  const { url, asked } = await fakeManager(t, azure);
  const { add, resolve } = secretsBench(t, { ownIdentity: ['azure_kv'] });
  add('r', {
    managerType: 'azure_kv',
    path: 'openai',
    auth: { azure_auth_mode: 'default', azure_vault_url: url },
  });
  await t.throwsAsync(resolve('r'), { message: /azure_vault_url.*vault of Azure/ });
  t.is(asked.length, 0);
});

test("Google's Secret Manager is read with a service account's key", async (t) => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const manager = await fakeManager(t, async ({ url, headers, body }) => {
    if (url.pathname === '/token') {
      const assertion = new URLSearchParams(body).get('assertion') ?? '';
      const verified = await jwtVerify(assertion, publicKey, {
        audience: url.href,
        issuer: 'a@p.example',
      }).catch(() => undefined);
      return verified?.payload.scope === 'https://www.googleapis.com/auth/cloud-platform'
        ? { body: { access_token: 'google-token', expires_in: 3599 } }
        : { status: 400, body: { error: 'invalid_grant' } };
    }
    if (headers.authorization !== 'Bearer google-token') return { status: 401, body: {} };
    return url.pathname === '/v1/projects/p/secrets/openai/versions/latest:access'
      ? { body: { payload: { data: Buffer.from('sk-google').toString('base64') } } }
      : { status: 404, body: {} };
  });
  const { add, resolve } = secretsBench(t, {
    environment: { CLOUDSDK_API_ENDPOINT_OVERRIDES_SECRETMANAGER: manager.url },
  });
  const account = (key: typeof privateKey) =>
    JSON.stringify({
      client_email: 'a@p.example',
      private_key: key.export({ type: 'pkcs8', format: 'pem' }),
      project_id: 'p',
      token_uri: `${manager.url}/token`,
    });
  const auth = { gcp_auth_type: 'serviceAccount', gcp_service_account_json: account(privateKey) };
  add('short', { managerType: 'gcp_sm', path: 'openai', auth });
  add('long', { managerType: 'gcp_sm', path: 'projects/p/secrets/openai', auth });
  add('gone', { managerType: 'gcp_sm', path: 'other', auth });
  add('odd', { managerType: 'gcp_sm', path: 'a/b', auth });
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey;
  add('stranger', {
    managerType: 'gcp_sm',
    path: 'openai',
    auth: { gcp_service_account_json: account(stranger) },
  });
  add('broken', {
    managerType: 'gcp_sm',
    path: 'openai',
    auth: { gcp_service_account_json: '{"private_key":"x' },
  });
  t.is(await resolve('short'), 'sk-google');
  t.is(await resolve('long'), 'sk-google');
  t.is(manager.asked.filter(({ url }) => url.pathname === '/token').length, 1);
  await t.throwsAsync(resolve('gone'), { message: /no such secret/ });
  await t.throwsAsync(resolve('odd'), { message: /secret_path/ });
  await t.throwsAsync(resolve('stranger'), { message: /gives the service account no token/ });
  await t.throwsAsync(resolve('broken'), { message: /no key file/ });
});
