// Maintenance of the MongoDB adapter on a real server.
import test from 'ava';
import { GatewayError } from '../../src/lib/errors.ts';
import { type Collection, defineCollection } from '../../src/store/collection.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { isNewerSchema } from '../../src/store/upgrades.ts';
import { mongoServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import {
  gadgets,
  logMaintenanceContract,
  maintenanceCollections,
  maintenanceContract,
  type OldGadget,
  oldGadgets,
} from './maintenance.contract.ts';
import { dropDatabase, freshDatabase } from './mongo-database.ts';

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else suite(server);

function suite(server: SharedMongo): void {
  const database = freshDatabase();
  const shared = openMongoStore({
    uri: server.uri,
    database,
    collections: maintenanceCollections,
    deadlineMs: 30_000,
  });
  test.after.always(async () => {
    await (await shared).close();
    await dropDatabase(server, database);
  });
  const serial = test.serial as typeof test;
  maintenanceContract(serial, () => shared);
  logMaintenanceContract(serial, () => shared);

  const scope = { organisationId: 'o', workspaceId: undefined };

  serial(
    'programs of two versions run side by side until the documents are upgraded, and not after it',
    async (t) => {
      const own = freshDatabase();
      t.teardown(() => dropDatabase(server, own));
      const open = (collection: Collection<object>) =>
        openMongoStore({ uri: server.uri, database: own, collections: [collection], deadlineMs: 30_000 });
      const older = await open(oldGadgets);
      const old = { name: 'n', size: '12 inches' };
      await older.documents.insert(scope, oldGadgets, { id: 'old', createdAt: 1, body: old });
      const newer = await open(gadgets);
      const again = await open(oldGadgets);
      t.deepEqual((await again.documents.get(scope, oldGadgets, 'old'))?.body, old);
      await again.close();
      const made = { label: 'm', inches: 3, tags: [] };
      await newer.documents.insert(scope, gadgets, { id: 'new', createdAt: 1, body: made });
      const unknown = older.documents.get(scope, oldGadgets, 'new');
      t.true(isNewerSchema(await t.throwsAsync(unknown, { instanceOf: GatewayError })));

      t.deepEqual(await newer.upgrade(), [{ collection: 'gadgets', upgraded: 1, left: 0, examples: [] }]);
      const refused = await t.throwsAsync(open(oldGadgets), { instanceOf: GatewayError });
      t.true(isNewerSchema(refused));
      t.regex(refused?.message ?? '', /gadgets has schema version 3.*knows 1: start the newer one/);
      // One that runs on writes what it knows, and that is read as it must be.
      await older.documents.insert(scope, oldGadgets, {
        id: 'late',
        createdAt: 1,
        body: { ...old, name: 'l' },
      });
      t.deepEqual((await newer.documents.get(scope, gadgets, 'late'))?.body, {
        label: 'l',
        inches: 12,
        tags: [],
      });
      t.is((await newer.upgrade())[0]?.upgraded, 1);
      await older.close();
      await newer.close();
    },
  );

  serial('old documents are found by a new field before they are upgraded', async (t) => {
    const own = freshDatabase();
    t.teardown(() => dropDatabase(server, own));
    const open = (collection: Collection<object>) =>
      openMongoStore({ uri: server.uri, database: own, collections: [collection], deadlineMs: 30_000 });
    const plain = defineCollection<OldGadget>({ name: 'gadgets', schemaVersion: 1 });
    const first = await open(plain);
    for (const [id, size] of [
      ['a', '7 inches'],
      ['b', '9 inches'],
    ] as const) {
      await first.documents.insert(scope, plain, { id, createdAt: 1, body: { name: id, size } });
    }
    await first.close();
    const store = await open(gadgets);
    const query = { pageSize: 9, filter: [{ field: 'inches', op: 'gt', value: 8 }] } as const;
    const found = await store.documents.page(scope, gadgets, query);
    t.deepEqual(
      found.documents.map(({ id, body }) => [id, body]),
      [['b', { label: 'b', inches: 9, tags: [] }]],
    );
    await store.upgrade();
    t.is((await store.documents.page(scope, gadgets, query)).total, 1);
    await store.close();
  });
}
