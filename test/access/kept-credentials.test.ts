// Credentials that are kept and shown masked go nowhere but where they were given for: configs, guardrails, logins of
// secret managers. Who changes where they go, and only knows the mask, is asked for the whole credential.
import test, { type ExecutionContext } from 'ava';
import type { Answer, Json } from '../support/front-door.ts';
import { ADMIN_KEY, startGateway, type TestGateway } from '../support/gateway.ts';
import { type People, type Person, peopleOf } from '../support/people.ts';

const KEPT = 'sk-of-the-admin-0123456789abcdef';
let gateway: TestGateway;
let people: People;
let place: string;
let manager: Person;

test.before(async () => {
  gateway = await startGateway();
  people = peopleOf(gateway);
  place = await people.workspace();
  manager = await people.person(place, 'manager');
  await people.ok('POST', '/virtual-keys', {
    name: 'theirs',
    slug: 'theirs',
    provider: 'openai',
    workspace_id: place,
    key: 'sk-of-somebody-0123456789',
  });
});
test.after.always(() => gateway?.close());

/** A config as the manager sees it. */
async function shownConfig(path: string): Promise<Json> {
  return JSON.parse(String((await people.ok('GET', path, undefined, manager.key)).config)) as Json;
}

/** Refused, with a word on the credential and without the credential. */
function refused(t: ExecutionContext, { status, json }: Answer, what: unknown): void {
  t.is(status, 400, JSON.stringify(what));
  t.regex(JSON.stringify(json), /give the whole credential|must be given again/, JSON.stringify(what));
  t.false(JSON.stringify(json).includes(KEPT));
}

test('a config’s credential goes to no other provider, account or endpoint', async (t) => {
  const configs: readonly (readonly [Json, Json])[] = [
    [{ provider: 'openai' }, { provider: 'groq' }],
    [{ provider: 'openai' }, { targets: [{ provider: '@theirs' }] }],
    [{ targets: [{ provider: 'openai' }] }, { targets: [{ provider: '@theirs' }] }],
    [{ provider: 'databricks', databricks_workspace: 'ours' }, { databricks_workspace: 'theirs' }],
    [{ provider: 'cortex', snowflake_account: 'ours' }, { snowflake_account: 'theirs' }],
    [
      { provider: 'azure-ai', azure_endpoint_name: 'ours', azure_region: 'eastus' },
      { azure_endpoint_name: 'theirs' },
    ],
  ];
  for (const [before, change] of configs) {
    const config = { ...before, api_key: KEPT };
    const { id } = await people.ok('POST', '/configs', { name: 'c', workspace_id: place, config });
    const path = `/configs/${String(id)}`;
    const shown = await shownConfig(path);
    t.is(shown.api_key, 'sk-******cdef');
    refused(t, await people.send('PUT', path, { config: { ...shown, ...change } }, manager.key), change);
    const harmless = { ...shown, retry: { attempts: 1 } };
    t.is((await people.send('PUT', path, { config: harmless }, manager.key)).status, 200);
    const whole = { ...shown, ...change, api_key: 'sk-mine-0123456789' };
    const { json } = await people.send('PUT', path, { config: whole }, manager.key);
    t.notRegex(JSON.stringify(json), /give the whole credential/);
  }
});

test('credentials of two targets do not change places with each other’s addresses', async (t) => {
  const config = {
    strategy: { mode: 'fallback' },
    targets: [
      { provider: 'openai', api_key: KEPT },
      { provider: 'openai', custom_host: 'http://127.0.0.1:9002/v1', api_key: 'sk-of-theirs-0123456789' },
    ],
  };
  const { id } = await people.ok('POST', '/configs', { name: 'c', workspace_id: place, config });
  const path = `/configs/${String(id)}`;
  const shown = (await shownConfig(path)) as { targets: Json[] };
  const [ours, theirs] = shown.targets;
  const moved = { ...shown, targets: [{ ...ours, custom_host: theirs!.custom_host }, theirs] };
  refused(t, await people.send('PUT', path, { config: moved }, manager.key), moved);
  const below = { ...shown, custom_host: theirs!.custom_host, targets: [ours, theirs] };
  refused(t, await people.send('PUT', path, { config: below }, manager.key), below);
  const turned = { ...shown, targets: [theirs, ours] };
  t.is((await people.send('PUT', path, { config: turned }, manager.key)).status, 200);
  const further = { ...shown, targets: [theirs, ours, { provider: '@theirs' }] };
  t.is(
    (await people.send('PUT', path, { config: further }, manager.key)).status,
    200,
    'a target beside them',
  );
});

test('a guardrail’s credential goes to no other host of its partner', async (t) => {
  const checks: readonly (readonly [string, Json, Json])[] = [
    ['promptsecurity.protectPrompt', { apiDomain: 'ours.example' }, { apiDomain: 'theirs.example' }],
    ['pangea.textGuard', { domain: 'ours.example' }, { domain: 'theirs.example' }],
    ['pangea.textGuard', {}, { domain: 'theirs.example' }],
    ['lakera.guard', { endpoint: 'https://ours.example' }, { endpoint: 'https://theirs.example' }],
  ];
  for (const [id, before, change] of checks) {
    const made = { id, parameters: { credentials: { apiKey: KEPT, ...before } } };
    const body = { name: 'g', workspace_id: place, checks: [made], actions: {} };
    const answer = await people.ok('POST', '/guardrails', body);
    const path = `/guardrails/${String(answer.id)}`;
    const [shown] = (await people.ok('GET', path, undefined, manager.key)).checks as [
      { parameters: { credentials: Json } },
    ];
    const { credentials } = shown.parameters;
    t.is(credentials.apiKey, 'sk-******cdef');
    const moved = { ...shown, parameters: { credentials: { ...credentials, ...change } } };
    refused(t, await people.send('PUT', path, { checks: [moved] }, manager.key), change);
    t.is((await people.send('PUT', path, { checks: [shown] }, manager.key)).status, 200, 'as it is shown');
  }
});

test('the login of a secret manager goes to no other address', async (t) => {
  const vault = { vault_auth_type: 'token', vault_addr: 'http://127.0.0.1:9001', vault_token: KEPT };
  const azure = {
    azure_auth_mode: 'entra',
    azure_entra_tenant_id: 't',
    azure_entra_client_id: 'c',
    azure_entra_client_secret: KEPT,
    azure_vault_url: 'https://ours.vault.azure.net',
  };
  const logins: readonly (readonly [string, Json, Json])[] = [
    ['hashicorp_vault', vault, { vault_addr: 'http://127.0.0.1:9002' }],
    ['hashicorp_vault', vault, { vault_addr: 'https://127.0.0.1:9001' }],
    ['azure_kv', azure, { azure_vault_url: 'https://theirs.vault.azure.net' }],
  ];
  for (const [i, [manager_type, auth_config, change]] of logins.entries()) {
    const slug = `login-${i}`;
    const body = { name: slug, slug, manager_type, secret_path: 'a/b', auth_config };
    await people.ok('POST', '/secret-references', body);
    const put = (auth: Json) =>
      people.send('PUT', `/secret-references/${slug}`, { auth_config: auth }, ADMIN_KEY);
    refused(t, await put(change), change);
    const shown = (await people.ok('GET', `/secret-references/${slug}`)).auth_config as Json;
    refused(t, await put({ ...shown, ...change }), 'beside its mask');
    t.is((await put(shown)).status, 200, 'as it is shown');
    const secret = manager_type === 'azure_kv' ? 'azure_entra_client_secret' : 'vault_token';
    t.is((await put({ ...change, [secret]: 'sk-another-0123456789' })).status, 200);
  }
});
