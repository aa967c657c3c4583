import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import test from 'ava';
import { LAST_GOOD_MS, SecretCache } from '../../src/secrets/cache.ts';
import { secretFailure } from '../../src/secrets/failure.ts';
import { eventually } from '../support/eventually.ts';
import { withSlack } from '../support/slack.ts';
import { secretsBench } from './bench.ts';
import { fakeManager } from './fake-manager.ts';

/** A cache with a clock of its own, and a manager that answers what it is told to. */
function cacheBench() {
  const state = { now: 0, reads: 0, next: (): string => 'one', troubles: 0 };
  const cache = new SecretCache({
    lifetimeMs: 1000,
    now: () => state.now,
    onTrouble: () => state.troubles++,
  });
  const get = () =>
    cache.get('k', async () => {
      state.reads++;
      await new Promise((resolve) => setImmediate(resolve));
      return state.next();
    });
  return { state, get };
}

test('many who ask at once make one reading; late in the lifetime the next value is read behind their backs', async (t) => {
  const { state, get } = cacheBench();
  t.deepEqual(await Promise.all([get(), get(), get()]), ['one', 'one', 'one']);
  t.is(state.reads, 1);
  state.now = 799;
  await get();
  t.is(state.reads, 1);
  state.next = () => 'two';
  state.now = 850;
  t.is(await get(), 'one');
  t.is(await get(), 'one');
  await eventually('the next value', async () => (await get()) === 'two');
  t.is(state.reads, 2);
  state.now = 850 + 1001;
  state.next = () => 'three';
  t.is(await get(), 'three', 'a value past its end is not handed out while its manager answers');
});

test('the last good value counts while the manager is away, and a manager that is away is not stormed', async (t) => {
  const { state, get } = cacheBench();
  await get();
  state.next = () => {
    throw secretFailure('outage', 'away');
  };
  state.now = 5000;
  t.is(await get(), 'one');
  t.is(await get(), 'one');
  t.is(state.reads, 2, 'quiet for a second');
  state.now = 7000;
  t.is(await get(), 'one');
  t.is(state.reads, 3);
  await eventually('the second trouble', () => state.troubles === 2);
  state.now = LAST_GOOD_MS + 1;
  await t.throwsAsync(get(), { message: 'away' });
  state.now += 60_000;
  state.next = () => 'back';
  t.is(await get(), 'back');
});

test('what the manager refuses is forgotten at once, and not asked for again at once', async (t) => {
  const { state, get } = cacheBench();
  await get();
  state.next = () => {
    throw secretFailure('denied', 'revoked');
  };
  state.now = 1500;
  await t.throwsAsync(get(), { message: 'revoked' });
  await t.throwsAsync(get(), { message: 'revoked' });
  t.is(state.reads, 2);
});

/** Where nobody listens. */
async function unusedUrl(): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return `http://127.0.0.1:${port}`;
}

test('a manager that hangs is given up, one that is down or garbled is an outage', async (t) => {
  const hanging = await fakeManager(t, () => new Promise(() => {}));
  const broken = await fakeManager(t, () => ({ status: 503, body: 'oops sk-leak' }));
  const huge = await fakeManager(t, () => ({ body: 'x'.repeat(300 * 1024) }));
  const { add, resolve, troubles } = secretsBench(t, { deadlineMs: 150 });
  const code = async (slug: string, vault_addr: string) => {
    const auth = { vault_auth_type: 'token', vault_addr, vault_token: 'hvs.secret' };
    add(slug, { managerType: 'hashicorp_vault', path: 'kv/a', auth });
    const error = await t.throwsAsync<Error & { details: { code?: string } }>(resolve(slug));
    t.notRegex(`${error?.stack} ${String(error?.cause)}`, /hvs\.secret|sk-leak/);
    return error?.details.code;
  };
  const from = performance.now();
  t.is(await code('hanging', hanging.url), 'secret_outage');
  t.true(performance.now() - from < withSlack(1500));
  t.is(await code('broken', broken.url), 'secret_outage');
  t.is(await code('huge', huge.url), 'secret_outage');
  t.is(await code('nobody', await unusedUrl()), 'secret_outage');
  t.is(troubles.length, 4);
  const error = await t.throwsAsync<Error & { reason: string }>(
    (async () => {
      const auth = { vault_auth_type: 'token', vault_addr: 'http://169.254.169.254', vault_token: 'x' };
      add('metadata', { managerType: 'hashicorp_vault', path: 'kv/a', auth });
      await resolve('metadata');
    })(),
  );
  t.is(error?.reason, 'host_refused');
});

test('a reference that was changed is read anew', async (t) => {
  const environment: Record<string, string> = { A: 'one', B: 'two' };
  const { add, references, resolve } = secretsBench(t, { environment, envAllow: ['A', 'B'] });
  const reference = add('r', { managerType: 'env', path: 'A' });
  t.is(await resolve('r'), 'one');
  environment.A = 'changed';
  t.is(await resolve('r'), 'one', 'kept');
  references.replica.apply({ ...reference, version: 2, body: { ...reference.body, path: 'B' } });
  t.is(await resolve('r'), 'two');
  references.replica.apply({ ...reference, version: 3 });
  t.is(await resolve('r'), 'changed');
});

test('references are found by organisation and workspace only', async (t) => {
  const { add, references, secrets } = secretsBench(t, { environment: { A: 'a' }, envAllow: ['A'] });
  const shared = add('shared', { managerType: 'env', path: 'A' });
  const some = add('some', { managerType: 'env', path: 'A', workspaces: ['w1'] });
  t.is(await secrets.resolve('org-1', 'w2', shared.id), 'a');
  t.is(await secrets.resolve('org-1', 'w1', 'some'), 'a');
  t.is(await secrets.resolve('org-1', undefined, 'some'), 'a');
  const missing = { message: /there is no secret reference/ };
  await t.throwsAsync(secrets.resolve('org-1', 'w2', 'some'), missing);
  await t.throwsAsync(secrets.resolve('org-2', undefined, 'shared'), missing);
  await t.throwsAsync(secrets.resolve('org-2', 'w1', some.id), missing);
  references.replica.apply({ ...shared, version: 2, status: 'archived' });
  await t.throwsAsync(secrets.resolve('org-1', 'w1', 'shared'), missing);
});
