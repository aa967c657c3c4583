// kill -9 in the middle of an upgrade and of a copy, over and over: what is run again to its end is whole, and nothing
// that a service wrote meanwhile is lost. SLUICE_KILL_ROUNDS sets how often (5 by default).
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import test, { type ExecutionContext } from 'ava';
import { COLLECTIONS } from '../../src/app/stores.ts';
import type { Document } from '../../src/store/documents.ts';
import { openMemoryState } from '../../src/store/memory/open-memory.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { startGateway } from '../support/gateway.ts';
import { mongoServer, redisServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { ROUNDS } from './kill-rounds.ts';
import { logEntry } from './log-entries.ts';
import { gadgets, type MaintainedStore, maintenanceCollections, scanned } from './maintenance.contract.ts';
import { launchMigrate, migrate } from './migrate-command.ts';
import { dropDatabase, freshDatabase, withDatabase } from './mongo-database.ts';
import { clearRedis, freshOrg } from './shared-stores.ts';

const root = mkdtempSync(join(tmpdir(), 'sluice-migrate-kill-'));
test.after.always(() => rmSync(root, { recursive: true, force: true }));

const scope = { organisationId: 'o', workspaceId: undefined };
const UPGRADER = fileURLToPath(new URL('./upgrade-child.ts', import.meta.url));

/** Old documents as an earlier program left them. */
async function fillOld({ maintenance }: MaintainedStore, count: number): Promise<void> {
  for (let at = 0; at < count; at += 500) {
    const documents = Array.from(
      { length: Math.min(500, count - at) },
      (_, i): Document<object> => ({
        id: `g${at + i}`,
        organisationId: 'o',
        version: 1,
        status: 'active',
        createdAt: at + i,
        updatedAt: 1,
        schemaVersion: 1,
        body: { name: `n${at + i}`, size: `${at + i} inches` },
      }),
    );
    await maintenance.importDocuments(gadgets, documents);
  }
}

/** Starts the upgrade and kills it a random while after it began; whether it was in the middle. */
async function upgradeAndKill(place: string, withinMs: number): Promise<boolean> {
  const child = spawn(process.execPath, [UPGRADER, place], { stdio: ['ignore', 'pipe', 'inherit'] });
  let said = '';
  child.stdout.on('data', (chunk: Buffer) => {
    said += chunk.toString('utf8');
  });
  const closed = once(child, 'close');
  await Promise.race([once(child.stdout, 'data'), closed]);
  await Promise.race([sleep(Math.random() * withinMs), closed]);
  child.kill('SIGKILL');
  await closed;
  return said.includes('begun') && !said.includes('upgraded');
}

async function versions(store: MaintainedStore): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (const { document } of await scanned(store.maintenance, gadgets, scope, 1000)) {
    found.set(document.schemaVersion, (found.get(document.schemaVersion) ?? 0) + 1);
  }
  return found;
}

test.serial('an embedded upgrade that is killed goes on where it was', async (t) => {
  t.timeout(240_000 + ROUNDS * 5000);
  const count = 2000;
  const left: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const dataDir = join(root, `embedded-${round}`);
    const open = (upgradeAtOpen: boolean) =>
      openSqliteStore({ dataDir, collections: maintenanceCollections, upgradeAtOpen });
    const first = await open(false);
    await fillOld(first, count);
    await first.close();
    const killed = await upgradeAndKill(dataDir, 60);
    const between = await open(false);
    if (killed) left.push((await versions(between)).get(1) ?? 0);
    await between.close();
    const store = await open(true);
    t.deepEqual([...(await versions(store))], [[3, count]]);
    const last = await store.documents.page(scope, gadgets, {
      pageSize: 2,
      filter: [{ field: 'inches', op: 'gte', value: count - 1 }],
    });
    t.deepEqual(
      last.documents.map(({ id, version }) => [id, version]),
      [[`g${count - 1}`, 1]],
    );
    await store.close();
  }
  t.log(`old documents after each kill: ${left.join(', ')}`);
  t.true(left.length > 0);
});

const mongo = await mongoServer();
const redis = await redisServer();
if (!mongo || !redis) reportMissing(test, mongo ? 'Redis' : 'MongoDB');
else suite(mongo, redis.url);

function suite(server: SharedMongo, redisUrl: string): void {
  test.after.always(() => clearRedis(redisUrl));

  test.serial(
    'an upgrade on MongoDB that is killed beside a writing service loses none of its writes',
    async (t) => {
      t.timeout(240_000 + ROUNDS * 10_000);
      const database = freshDatabase();
      t.teardown(() => dropDatabase(server, database));
      const count = 300;
      const store = await openMongoStore({
        uri: server.uri,
        database,
        collections: maintenanceCollections,
        deadlineMs: 30_000,
      });
      t.teardown(() => store.close());
      await fillOld(store, count);

      let writing = true;
      const written = new Map<string, number>();
      const service = async (): Promise<void> => {
        for (let n = 1; writing; n++) {
          const id = `g${Math.floor(Math.random() * count)}`;
          const before = await store.documents.get(scope, gadgets, id);
          if (before === undefined) throw new Error(`${id} is gone`);
          const body = { ...before.body, inches: 1_000_000 + n };
          const order = { body, updatedAt: n };
          await store.documents.update(scope, gadgets, id, before.version, order);
          written.set(id, body.inches);
        }
      };
      const serving = service();
      const left: number[] = [];
      for (let round = 0; round < ROUNDS; round++) {
        const killed = await upgradeAndKill(`${server.uri}#${database}`, 300);
        if (killed) left.push((await versions(store)).get(1) ?? 0);
      }
      await store.upgrade();
      writing = false;
      await serving;
      t.log(`old documents after each kill: ${left.join(', ')}; written beside: ${written.size}`);
      t.true(left.length > 0);
      t.true(written.size > 3);
      t.deepEqual([...(await versions(store))], [[3, count]]);
      for (const { document } of await scanned(store.maintenance, gadgets, scope, 1000)) {
        const i = Number(document.id.slice(1));
        const inches = written.get(document.id) ?? i;
        t.deepEqual(document.body, { label: `n${i}`, inches, tags: [] });
        t.is(document.version > 1, written.has(document.id));
      }
      const byColumn = await store.documents.page(scope, gadgets, {
        pageSize: 1,
        filter: [{ field: 'inches', op: 'gt', value: 1_000_000 }],
      });
      t.is(byColumn.total, written.size);
    },
  );

  test.serial('a copy that is killed is whole when it is made again', async (t) => {
    t.timeout(240_000 + ROUNDS * 10_000);
    const dataDir = await largeFolder();
    const database = freshDatabase();
    t.teardown(() => dropDatabase(server, database));
    const url = new URL(server.uri);
    url.pathname = `/${database}`;
    const env = {
      MONGODB_URI: url.href,
      REDIS_URL: redisUrl,
      GATEWAY_ENCRYPTION_KEY: readFileSync(join(dataDir, 'encryption.key'), 'utf8').trim(),
    };
    const progress: string[] = [];
    for (let round = 0; round < ROUNDS; round++) {
      const killed = await copyAndKill(t, env, dataDir, database, round);
      if (killed === undefined) continue;
      const half = await startGateway(env).then(
        async (gateway) => gateway.close(),
        (error: Error) => error,
      );
      if (half === undefined) {
        // Killed behind its last step, before it could say so.
        t.is(killed, '400/600');
        continue;
      }
      progress.push(killed);
      t.regex(half.message, /is not finished: run "sluice migrate --from"/);
    }
    t.log(`users/entries after each kill: ${progress.join(', ')}`);
    t.true(progress.length > 0);
    const done = await migrate(env, '--from', dataDir);
    t.is(done.code, 0, done.output);
    t.regex(done.output, /^users +400 +(\w+) +400 +\1 +same$/m);
    t.regex(done.output, /^request log +600 +(\w+) +600 +\1 +same$/m);
    t.regex(done.output, /^journal entries +100 +(\w+) +100 +\1 +same$/m);
    const again = await migrate(env, '--from', dataDir);
    t.is(again.code, 0, again.output);
    t.regex(again.output, /users: 0 copied, 400 there already/);
    await (await startGateway(env)).close();
  });

  async function copyAndKill(
    t: ExecutionContext,
    env: Readonly<Record<string, string>>,
    dataDir: string,
    database: string,
    round: number,
  ): Promise<string | undefined> {
    const command = launchMigrate(env, '--from', dataDir);
    t.teardown(() => void command.process.kill('SIGKILL'));
    // From the first collection on, later in later rounds.
    const giveUpAt = Date.now() + 20_000;
    while (!command.output().includes('organisations: ') && Date.now() < giveUpAt) await sleep(5);
    await sleep(((round + Math.random()) / ROUNDS) * 500);
    command.process.kill('SIGKILL');
    if ((await command.exited) !== null) return undefined;
    return withDatabase(server.uri, database, async (db) => {
      const count = (name: string): Promise<number> => db.collection(name).countDocuments();
      return `${await count('users')}/${await count('log.entries')}`;
    });
  }

  async function largeFolder(): Promise<string> {
    const dataDir = join(root, 'large');
    const org = freshOrg();
    await (await startGateway({ GATEWAY_DATA_DIR: dataDir })).close();
    const store = await openSqliteStore({ dataDir, collections: COLLECTIONS });
    const users = COLLECTIONS.find(({ name }) => name === 'users');
    if (users === undefined) throw new Error('there is no collection of users');
    for (let at = 0; at < 400; at += 200) {
      const documents = Array.from(
        { length: 200 },
        (_, i): Document<object> => ({
          id: `u${at + i}`,
          organisationId: org,
          version: 1 + (i % 7),
          createdAt: i,
          updatedAt: i,
          status: i % 5 === 0 ? 'archived' : 'active',
          schemaVersion: users.schemaVersion,
          body: { email: `u${at + i}@example.com`, text: 'x'.repeat(i) },
        }),
      );
      await store.maintenance.importDocuments(users, documents);
    }
    for (let at = 0; at < 600; at += 300) {
      await store.requestLog.append(
        Array.from({ length: 300 }, (_, i) =>
          logEntry({ id: `e${at + i}`, organisationId: org, createdAt: at + i, traceId: `t${i}` }),
        ),
      );
    }
    await store.close();
    const state = await openMemoryState({ dataDir });
    for (let i = 0; i < 100; i++) {
      await state.admit(org, {
        limits: [{ kind: 'budget', key: `b${i % 90}`, amount: BigInt(i) }],
        hold: { id: `h${i}`, owner: 'o', leaseMs: 600_000 },
        journal: { maxLength: 1000, entry: { id: `j${i}`, data: 'x'.repeat(100) } },
      });
    }
    await state.close();
    return dataDir;
  }
}
