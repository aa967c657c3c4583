// The store's keys: made once, wrapped by the operator's, rotated under readers and writers, resumed after kill -9.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { createKeyHasher, keyHasherOf } from '../../src/access/key-hash.ts';
import { masterKey } from '../../src/access/master-key.ts';
import { rotateEncryption } from '../../src/access/rotate-encryption.ts';
import { GatewayError } from '../../src/lib/errors.ts';
import { dropDatabase, freshDatabase } from '../store/mongo-database.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';
import { withSlack } from '../support/slack.ts';
import {
  credentialsOf,
  fill,
  formerVaults,
  type Instance,
  instanceOn,
  newMaster,
  openAt,
  rotationCollections,
  scope,
  sealedBy,
  type Vault,
  type VaultStore,
  vaults,
} from './vaults.ts';

/** Documents that are there before writers begin. */
const FILLED = 150;
const CHILD = fileURLToPath(new URL('./rotation-child.ts', import.meta.url));
const server = await mongoServer();

interface Place {
  readonly address: string;
  remove(): Promise<void>;
}

function directory(): Place {
  const dataDir = mkdtempSync(join(tmpdir(), 'sluice-keys-'));
  return { address: dataDir, remove: async () => rmSync(dataDir, { recursive: true, force: true }) };
}

function database(uri: string): Place {
  const name = freshDatabase();
  return {
    address: `${uri}#${name}`,
    remove: async () => (server ? dropDatabase(server, name) : undefined),
  };
}

async function opened(
  t: ExecutionContext,
  place: Place = directory(),
): Promise<VaultStore & { place: Place }> {
  const store = await openAt(place.address);
  t.teardown(async () => {
    await store.close();
    await place.remove();
  });
  return { ...store, place };
}

function rotate(store: VaultStore, { keys }: Instance, settleMs = 0) {
  const { maintenance } = store;
  return rotateEncryption({ keys, maintenance, collections: rotationCollections, now: Date.now, settleMs });
}

async function intact(t: ExecutionContext, { documents, heard }: Instance, count: number): Promise<void> {
  let cursor: string | undefined;
  let seen = 0;
  do {
    const page = await documents.page(scope, vaults, { pageSize: 500, ...(cursor ? { cursor } : {}) });
    for (const { id, body } of page.documents) {
      const wanted = credentialsOf(id, body.count ?? 0);
      if (JSON.stringify(body.credentials) !== JSON.stringify(wanted))
        t.fail(`${id}: ${JSON.stringify(body)}`);
      seen++;
    }
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  t.is(seen, count);
  t.deepEqual(heard, []);
}

test('API keys hash as before there were stored keys, whatever is rotated', async (t) => {
  const store = await opened(t);
  const [old, next] = [newMaster(), newMaster()];
  const before = createKeyHasher(old).hash('slk_some_key');
  const first = await instanceOn(store, old);
  t.is(keyHasherOf(first.keys.hashSecret).hash('slk_some_key'), before);
  await fill(first.documents, 20);
  await rotate(store, first);
  await first.keys.addMaster(masterKey(next));
  await first.keys.addMaster(masterKey(next));
  const second = await instanceOn(store, next);
  t.is(keyHasherOf(second.keys.hashSecret).hash('slk_some_key'), before);
  await intact(t, second, 20);
  await intact(t, await instanceOn(store, old), 20);

  t.deepEqual(await second.keys.dropOtherMasters(), [masterKey(old).id]);
  t.deepEqual(await second.keys.dropOtherMasters(), []);
  t.deepEqual((await second.keys.inUse()).masters, [masterKey(next).id]);
  t.is(keyHasherOf((await instanceOn(store, next)).keys.hashSecret).hash('slk_some_key'), before);
  const refused = await t.throwsAsync(instanceOn(store, old), { instanceOf: GatewayError });
  t.is(refused?.reason, 'store_unavailable');
  t.regex(refused?.message ?? '', /GATEWAY_ENCRYPTION_KEY/);
  t.true(refused?.message.includes(masterKey(old).id) && refused.message.includes(masterKey(next).id));
  for (const secret of [old, next]) t.false(refused?.message.includes(secret.toString('base64')));
  await intact(t, first, 20);
  await rotate(store, second);
  const left = await t.throwsAsync(first.documents.get(scope, vaults, 'v0'), { instanceOf: GatewayError });
  t.regex(left?.message ?? '', /GATEWAY_ENCRYPTION_KEY/, 'an instance that was left behind says why');
});

test('instances that start together make one set of keys, and no key is stored in the clear', async (t) => {
  const store = await opened(t);
  const master = newMaster();
  const instances = await Promise.all(Array.from({ length: 5 }, () => instanceOn(store, master)));
  const secrets = instances.map(({ keys }) => Buffer.from(keys.hashSecret).toString('hex'));
  t.is(new Set(secrets).size, 1);
  t.is(new Set(await Promise.all(instances.map(async ({ keys }) => (await keys.current()).id))).size, 1);
  const bundle = await store.maintenance.scan(rotationCollections[1]!, { limit: 10 });
  t.is(bundle.documents.length, 1);
  const text = JSON.stringify(bundle.documents);
  const key = (await instances[0]!.keys.current()).key.export();
  for (const secret of [key, master, Buffer.from(secrets[0]!, 'hex')]) {
    t.false(text.includes(secret.toString('base64').slice(0, 42)));
  }
});

test('another instance opens what a newer key sealed, and seals with it soon', async (t) => {
  const store = await opened(t);
  const master = newMaster();
  const [one, two] = [await instanceOn(store, master, 0), await instanceOn(store, master, 60_000)];
  await fill(one.documents, 3);
  const before = (await two.keys.current()).id;
  const after = await one.keys.advance();
  t.not(after, before);
  t.is(await one.keys.advance(), after, 'a rotation that is not finished goes on');
  t.is((await two.keys.current()).id, before, 'its view may be so old');
  const body: Vault = { name: 'n', credentials: credentialsOf('new', 0) };
  await one.documents.insert(scope, vaults, { id: 'new', createdAt: 1, body });
  t.deepEqual(Object.keys(await sealedBy(store.maintenance)).sort(), [before, after].sort());
  t.deepEqual((await two.documents.get(scope, vaults, 'new'))?.body, body);
  t.is((await two.keys.current()).id, after, 'and with the value comes the view');
  const next = await instanceOn(store, master, 50);
  await rotate(store, one);
  const last = await one.keys.advance();
  await sleep(60);
  t.is((await next.keys.current()).id, last, 'a view that is too old is read anew');
  const unknown = performance.now();
  for (let i = 0; i < 200; i++) t.is(await two.keys.find('dk_none'), undefined);
  t.true(performance.now() - unknown < withSlack(500), 'a key that nobody has is not asked for each time');
});

test('a retired key opens until a later rotation finds nothing of it', async (t) => {
  const store = await opened(t);
  const instance = await instanceOn(store, newMaster(), 0);
  await fill(instance.documents, 10);
  const first = (await instance.keys.current()).id;
  const { keyId, resealed } = await rotate(store, instance);
  t.is(resealed, 10);
  t.deepEqual(await sealedBy(store.maintenance), { [keyId]: 10 });
  t.deepEqual(await instance.keys.inUse(), {
    current: keyId,
    leaving: [],
    retired: [first],
    masters: (await instance.keys.inUse()).masters,
  });
  t.true(await instance.keys.retire(keyId, new Set([first]), Date.now() + 1));
  t.truthy(await instance.keys.find(first), 'one that is used stays');
  t.false(await instance.keys.retire('dk_other', new Set(), Date.now() + 1));
  t.true(await instance.keys.retire(keyId, new Set(), Date.now() + 1));
  t.is(await instance.keys.find(first), undefined);
  const again = await rotate(store, instance);
  t.not(again.keyId, keyId);
  t.deepEqual(await sealedBy(store.maintenance), { [again.keyId]: 10 });
  await intact(t, instance, 10);
});

test('a rotation seals what was written before its field was declared secret', async (t) => {
  const store = await opened(t);
  const instance = await instanceOn(store, newMaster(), 0);
  const body: Vault = { name: 'old', credentials: credentialsOf('old', 0) };
  await store.documents.insert(scope, formerVaults, { id: 'old', createdAt: 1, body });
  const { keyId } = await rotate(store, instance);
  const [stored] = (await store.maintenance.scan(formerVaults, { limit: 10 })).documents;
  t.regex(String((stored!.document.body as Vault).credentials), new RegExp(`^sealed:v1:${keyId}:`));
  t.is(stored?.document.version, 1, 'it is the same document as before');
  t.deepEqual((await instance.documents.get(scope, formerVaults, 'old'))?.body, body);
});

test('what cannot be opened stays, is reported, and keeps its key', async (t) => {
  const store = await opened(t);
  const instance = await instanceOn(store, newMaster(), 0);
  await fill(instance.documents, 5);
  const [stored] = (await store.maintenance.scan(vaults, { limit: 10 })).documents;
  const text = String((stored!.document.body as Vault).credentials);
  const body = { ...stored!.document.body, credentials: `${text.slice(0, -4)}AAAA` };
  t.deepEqual(await store.maintenance.rewrite(vaults, [{ stored: stored!, body }]), ['written']);
  const first = (await instance.keys.current()).id;
  const report = await rotate(store, instance);
  t.deepEqual(
    report.unreadable.map(({ id, keyId, why }) => [id, keyId, why]),
    [['v0', first, 'damaged']],
  );
  t.deepEqual(await sealedBy(store.maintenance), { [first]: 1, [report.keyId]: 4 });
  t.deepEqual((await instance.keys.inUse()).retired, [first]);
});

interface RotationChild {
  readonly lines: string[];
  readonly ended: Promise<unknown>;
  kill(): void;
}

function startRotation(place: Place, master: Buffer, settleMs: number): RotationChild {
  const args = [CHILD, place.address, master.toString('base64'), String(settleMs)];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const reader = createInterface({ input: child.stdout });
  reader.on('line', (line) => lines.push(line));
  return { lines, ended: once(reader, 'close'), kill: () => void child.kill('SIGKILL') };
}

/** Writers and readers until `stop`; every read must be whole, and every write that was acknowledged must be there. */
async function traffic(t: ExecutionContext, instance: Instance, running: { on: boolean }, own: string) {
  const { documents } = instance;
  const counts = new Map<string, number>();
  const writer = async (lane: number): Promise<void> => {
    for (let i = 0; running.on; i++) {
      const id = `${own}${(i * 7 + lane * 13) % 40}`;
      const found = await documents.get(scope, vaults, id);
      if (found === undefined) {
        counts.set(id, 0);
        const body = { name: id, credentials: credentialsOf(id, 0), count: 0 };
        await documents.insert(scope, vaults, { id, createdAt: 1, body }).catch(lost);
        continue;
      }
      const count = (found.body.count ?? 0) + 1;
      const body = { name: id, credentials: credentialsOf(id, count), count };
      const written = await documents
        .update(scope, vaults, id, found.version, { body, updatedAt: 2 })
        .catch(lost);
      if (written) counts.set(id, Math.max(count, counts.get(id) ?? 0));
    }
  };
  const lost = (error: unknown): undefined => {
    const expected = error instanceof GatewayError && /conflict/.test(error.reason);
    if (!expected) throw error;
  };
  const reader = async (): Promise<void> => {
    for (let i = 0; running.on; i++) {
      const id = `v${(i * 31) % FILLED}`;
      const found = await documents.get(scope, vaults, id);
      if (JSON.stringify(found?.body.credentials) !== JSON.stringify(credentialsOf(id, 0))) t.fail(id);
    }
  };
  await Promise.all([writer(1), writer(2), reader()]);
  for (const [id, count] of counts) {
    const found = await documents.get(scope, vaults, id);
    t.true((found?.body.count ?? -1) >= count, `${id} lost a write`);
    t.deepEqual(found?.body.credentials, credentialsOf(id, found?.body.count ?? -1));
  }
  return counts.size;
}

test('rotations under writers and readers lose nothing (SQLite, one process)', async (t) => {
  const store = await opened(t);
  const master = newMaster();
  const [one, two, third] = [
    await instanceOn(store, master),
    await instanceOn(store, master),
    await instanceOn(store, master),
  ];
  await fill(one.documents, FILLED);
  const running = { on: true };
  const busy = Promise.all([traffic(t, one, running, 'a'), traffic(t, two, running, 'b')]);
  // Three at once, then another: all end, and one key has everything.
  // Longer than a view of the keys is old and a write takes on a busy machine.
  const settleMs = 1200;
  await Promise.all([third, one, two].map((instance) => rotate(store, instance, settleMs)));
  const { keyId } = await rotate(store, third, settleMs);
  running.on = false;
  const made = (await busy).reduce((sum, count) => sum + count, 0);
  t.deepEqual(await sealedBy(store.maintenance), { [keyId]: FILLED + made });
  await intact(t, one, FILLED + made);
  await intact(t, two, FILLED + made);
});

test('a rotation that was killed is gone on with (SQLite)', async (t) => {
  const place = directory();
  const master = newMaster();
  const COUNT = 1500;
  let store = await openAt(place.address);
  t.teardown(async () => {
    await store.close();
    await place.remove();
  });
  const first = await instanceOn(store, master);
  await fill(first.documents, COUNT);
  const before = (await first.keys.current()).id;
  let target: string | undefined;
  for (let round = 0; round < 3; round++) {
    await store.close();
    const child = startRotation(place, master, 60_000);
    while (child.lines.length < 2 + round) await sleep(5);
    child.kill();
    await child.ended;
    store = await openAt(place.address);
    const after = await instanceOn(store, master);
    await intact(t, after, COUNT);
    const { current, leaving } = await after.keys.inUse();
    t.deepEqual(leaving, [before]);
    target ??= current;
    t.is(current, target, 'the same key is gone on with');
  }
  const halfway = await sealedBy(store.maintenance);
  t.true((halfway[target ?? ''] ?? 0) > 0, JSON.stringify(halfway));
  const instance = await instanceOn(store, master);
  t.is((await rotate(store, instance)).keyId, target ?? '');
  t.deepEqual(await sealedBy(store.maintenance), { [target ?? '']: COUNT });
  t.deepEqual((await instance.keys.inUse()).leaving, []);
  await intact(t, instance, COUNT);
});

test('a file of the data folder holds nothing of a secret', async (t) => {
  const store = await opened(t);
  const instance = await instanceOn(store, newMaster());
  await fill(instance.documents, 50);
  await rotate(store, instance);
  for (const file of ['sluice.db', 'sluice.db-wal']) {
    t.false(readFileSync(join(store.place.address, file)).includes('plain-as-day'), file);
  }
});

if (server) {
  test('a rotation from another process, killed and begun again, under traffic (MongoDB)', async (t) => {
    const place = database(server.uri);
    const store = await opened(t, place);
    const master = newMaster();
    const [one, two] = [await instanceOn(store, master), await instanceOn(store, master)];
    await fill(one.documents, FILLED);
    const before = (await one.keys.current()).id;
    const running = { on: true };
    const busy = Promise.all([traffic(t, one, running, 'a'), traffic(t, two, running, 'b')]);
    const killed = startRotation(place, master, 60_000);
    while (killed.lines.length < 2) await sleep(5);
    killed.kill();
    await killed.ended;
    const child = startRotation(place, master, 1500);
    await child.ended;
    running.on = false;
    const made = (await busy).reduce((sum, count) => sum + count, 0);
    const report = JSON.parse(child.lines.at(-1) ?? '{}') as { keyId: string; unreadable: number };
    t.is(report.unreadable, 0);
    t.not(report.keyId, before);
    t.deepEqual(await sealedBy(store.maintenance), { [report.keyId]: FILLED + made });
    t.deepEqual((await one.keys.inUse()).retired, [before]);
    await intact(t, one, FILLED + made);
    await intact(t, two, FILLED + made);
  });
} else {
  reportMissing(test, 'MongoDB');
}
