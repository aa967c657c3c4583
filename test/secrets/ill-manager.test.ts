// A manager that is ill: the last good value is answered at once, odd answers forget nothing, refusals do.
import test, { type ExecutionContext } from 'ava';
import { MOST_REFRESHES, SecretCache } from '../../src/secrets/cache.ts';
import { secretFailure } from '../../src/secrets/failure.ts';
import type { SecretReferenceBody } from '../../src/secrets/secret-collections.ts';
import { eventually } from '../support/eventually.ts';
import { secretsBench } from './bench.ts';
import { type Answered, type Asked, fakeManager } from './fake-manager.ts';

const LIFETIME = 1000;
const SECRET = 'sk-one';

/** How a manager is asked for a secret, and how it answers with one. */
interface Kind {
  readonly name: string;
  readonly body: (url: string) => SecretReferenceBody;
  readonly environment?: (url: string) => Record<string, string>;
  readonly good: (value: string) => Answered;
  /** Whether a request is for the secret, and no login. */
  readonly isRead: (asked: Asked) => boolean;
  readonly login?: Answered;
  readonly refusals: readonly Answered[];
}

const common = { name: 'r', searchText: 'r', createdBy: 'me' };
const KINDS: readonly Kind[] = [
  {
    name: 'hashicorp_vault, version 2',
    body: (url) => ({
      ...common,
      managerType: 'hashicorp_vault',
      path: 'secret/data/app',
      key: 'k',
      auth: { vault_auth_type: 'token', vault_addr: url, vault_token: 'hvs.t' },
    }),
    good: (k) => ({ body: { data: { data: { k }, metadata: { version: 1 } } } }),
    isRead: () => true,
    refusals: [
      { status: 403, body: {} },
      { status: 404, body: {} },
    ],
  },
  {
    name: 'hashicorp_vault by AppRole',
    body: (url) => ({
      ...common,
      managerType: 'hashicorp_vault',
      path: 'kv/app',
      key: 'k',
      auth: { vault_auth_type: 'approle', vault_addr: url, vault_role_id: 'r', vault_secret_id: 's' },
    }),
    good: (k) => ({ body: { data: { k } } }),
    isRead: ({ url }) => !url.pathname.endsWith('/login'),
    login: { body: { auth: { client_token: 't', lease_duration: 3600 } } },
    refusals: [
      { status: 403, body: '<html>' },
      { status: 404, body: {} },
    ],
  },
  {
    name: 'aws_sm',
    body: () => ({
      ...common,
      managerType: 'aws_sm',
      path: 'app',
      auth: {
        aws_auth_type: 'accessKey',
        aws_region: 'eu-west-1',
        aws_access_key_id: 'AK',
        aws_secret_access_key: 'SK',
      },
    }),
    environment: (url) => ({ AWS_ENDPOINT_URL_SECRETS_MANAGER: url }),
    good: (SecretString) => ({ body: { SecretString } }),
    isRead: () => true,
    refusals: [
      { status: 400, body: { __type: 'AccessDeniedException' } },
      { status: 400, body: { __type: 'ResourceNotFoundException' } },
    ],
  },
  {
    name: 'azure_kv',
    body: (url) => ({
      ...common,
      managerType: 'azure_kv',
      path: 'app',
      auth: {
        azure_auth_mode: 'entra',
        azure_entra_tenant_id: 't',
        azure_entra_client_id: 'c',
        azure_entra_client_secret: 's',
        azure_vault_url: url,
      },
    }),
    environment: (url) => ({ AZURE_AUTHORITY_HOST: url }),
    good: (value) => ({ body: { value } }),
    isRead: ({ method }) => method === 'GET',
    login: { body: { access_token: 't', expires_in: 3600 } },
    refusals: [
      { status: 403, body: {} },
      { status: 404, body: {} },
    ],
  },
];

const isValue = (value: string): boolean => value === SECRET;

/** Answers that are no secret and no refusal. */
const ODD: readonly Answered[] = [
  { body: {} },
  { body: '<html>welcome</html>' },
  { body: { data: { data: {}, metadata: {} } } },
  { body: { data: { data: null, metadata: {} } } },
  { body: { data: { other: 'x' } } },
  { body: { SecretString: '', value: '', data: { data: { k: '' }, metadata: {} } } },
  { status: 400, body: { __type: 'ValidationException' } },
  { status: 412, body: '' },
  { status: 401, body: '' },
  { status: 302, body: '' },
  { status: 429, body: '' },
  { status: 500, body: '' },
];

async function ill(t: ExecutionContext, kind: Kind) {
  const clock = { now: 1_800_000_000_000 };
  let answer: Answered | 'hang' = kind.good(SECRET);
  const manager = await fakeManager(t, (asked) => {
    if (!kind.isRead(asked)) return kind.login!;
    return answer === 'hang' ? new Promise(() => {}) : answer;
  });
  const bench = secretsBench(t, {
    lifetimeMs: LIFETIME,
    deadlineMs: 600_000,
    now: () => clock.now,
    environment: kind.environment?.(manager.url) ?? {},
  });
  bench.add('r', kind.body(manager.url));
  const read = async (given: Answered | 'hang'): Promise<string> => {
    answer = given;
    clock.now += LIFETIME + 40_000;
    return bench.resolve('r');
  };
  return { ...bench, read, good: kind.good, reads: () => manager.asked.filter(kind.isRead).length };
}

for (const kind of KINDS) {
  test(`${kind.name}: an odd answer keeps the last good value, and the next read after it succeeds`, async (t) => {
    const { resolve, read, good } = await ill(t, kind);
    t.is(await resolve('r'), SECRET);
    for (const odd of ODD) t.is(await read(odd), SECRET, JSON.stringify(odd));
    await read(good('sk-two'));
    t.true(await eventually('the new value', async () => (await resolve('r')) === 'sk-two'));
  });

  test(`${kind.name}: a clear refusal forgets`, async (t) => {
    for (const refusal of kind.refusals) {
      const { resolve, read } = await ill(t, kind);
      t.is(await resolve('r'), SECRET);
      await read(refusal).catch(() => {});
      // A slow manager's refusal counts from its answer on.
      while (await resolve('r').then(isValue, () => false)) await new Promise((done) => setImmediate(done));
      await t.throwsAsync(resolve('r'));
    }
  });

  test(`${kind.name}: while it hangs nobody waits for its deadline`, async (t) => {
    const { resolve, read } = await ill(t, kind);
    t.is(await resolve('r'), SECRET);
    // The deadline is ten minutes: a call that waited for it would end the test.
    t.is(await read('hang'), SECRET);
    for (let i = 0; i < 50; i++) t.is(await resolve('r'), SECRET);
  });
}

test('a secret that is gone from its manager while nobody asked is not answered from memory', async (t) => {
  const state = { now: 0 };
  const cache = new SecretCache({ lifetimeMs: LIFETIME, now: () => state.now, onTrouble: () => {} });
  t.is(await cache.get('k', async () => SECRET), SECRET);
  state.now = LIFETIME * 100;
  const gone = cache.get('k', async () => {
    throw secretFailure('missing', 'gone');
  });
  await t.throwsAsync(gone, { message: 'gone' });
});

test('a manager that never gave the secret is asked again within 5 s', async (t) => {
  const state = { now: 0, reads: 0 };
  const cache = new SecretCache({ lifetimeMs: LIFETIME, now: () => state.now, onTrouble: () => {} });
  const read = async () => {
    state.reads++;
    throw new Error('away');
  };
  for (let i = 0; i < 20; i++) {
    state.now += 5001;
    await t.throwsAsync(cache.get('k', read));
  }
  t.is(state.reads, 20);
});

test('reads in the background are bounded', async (t) => {
  const state = { now: 0, open: 0, most: 0 };
  const cache = new SecretCache({ lifetimeMs: LIFETIME, now: () => state.now, onTrouble: () => {} });
  const keys = Array.from({ length: 500 }, (_, i) => `k${i}`);
  for (const key of keys) await cache.get(key, async () => 'one');
  state.now = 900;
  const hang = () => {
    state.most = Math.max(state.most, ++state.open);
    return new Promise<string>(() => {});
  };
  for (const key of keys) t.is(await cache.get(key, hang), 'one');
  t.is(state.most, MOST_REFRESHES);
});
