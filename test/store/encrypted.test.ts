// Encryption at rest on both stores, read raw behind the port's back.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import test, { type Implementation, type TestFn } from 'ava';
import mongoose from 'mongoose';
import { defineCollection } from '../../src/store/collection.ts';
import { encryptedDocuments } from '../../src/store/encrypted-documents.ts';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';
import { contractCollections, documentsContract } from './documents.contract.ts';
import {
  encryptionContract,
  freshKey,
  heldKeys,
  type RawBodies,
  secretCollections,
} from './encrypted.contract.ts';
import { dropDatabase, freshDatabase } from './mongo-database.ts';

const collections = [...secretCollections, ...contractCollections];

/** The same tests under titles of their own. */
function named(prefix: string): TestFn {
  const register = (title: string, run: Implementation<[]>): void => test(`${prefix}: ${title}`, run);
  return register as TestFn;
}

const dataDir = mkdtempSync(join(tmpdir(), 'sluice-sealed-'));
// The group that this file runs in may hold the thread for seconds.
const sqlite = await openSqliteStore({ dataDir, collections, deadlineMs: 60_000 });
const server = await mongoServer();
const database = freshDatabase();
const mongo = server && (await openMongoStore({ uri: server.uri, database, collections }));
const rawSqlite = new DatabaseSync(join(dataDir, 'sluice.db'), { timeout: 5000 });
const row = 'WHERE organisation_id = ? AND id = ?';
const sqliteBodies: RawBodies = {
  read: async (collection, organisation, id) =>
    String(rawSqlite.prepare(`SELECT body FROM c_${collection} ${row}`).get(organisation, id)?.body),
  write: async (collection, organisation, id, body) => {
    rawSqlite.prepare(`UPDATE c_${collection} SET body = ? ${row}`).run(body, organisation, id);
  },
};
test.after.always(async () => {
  rawSqlite.close();
  await sqlite.close();
  rmSync(dataDir, { recursive: true, force: true });
});
encryptionContract(named('SQLite'), async () => ({ documents: sqlite.documents, raw: sqliteBodies }));

const keys = heldKeys(freshKey('dk_contract'));
documentsContract(named('the port over encryption'), async () =>
  encryptedDocuments(sqlite.documents, { keys, onUnreadable: () => undefined }),
);

if (server && mongo) {
  const client = new mongoose.mongo.MongoClient(server.uri);
  const of = (collection: string) => client.db(database).collection<{ body: string }>(collection);
  const mongoBodies: RawBodies = {
    read: async (collection, organisationId, id) =>
      String((await of(collection).findOne({ organisationId, id }))?.body),
    write: async (collection, organisationId, id, body) => {
      await of(collection).updateOne({ organisationId, id }, { $set: { body } });
    },
  };
  test.after.always(async () => {
    await mongo.close();
    await client.close();
    await dropDatabase(server, database);
  });
  encryptionContract(named('MongoDB'), async () => ({ documents: mongo.documents, raw: mongoBodies }));
} else {
  reportMissing(test, 'MongoDB');
}

test('a secret can be no field, lie in none and hold none', (t) => {
  const declare = (secret: string[], path = 'auth.name') =>
    defineCollection({ name: 'x', schemaVersion: 1, fields: [{ name: 'f', type: 'text', path }], secret });
  t.notThrows(() => declare(['auth.key', 'credentials', 'list.*.key']));
  for (const secret of [
    'auth',
    'auth.name',
    'auth.name.deeper',
    'auth.*',
    'a..b',
    '*',
    '*.x',
    '',
    'a.$b',
    'a-b',
  ]) {
    t.throws(() => declare([secret]), { message: /secret/ }, secret);
  }
  t.throws(() => declare(['a.b', 'a']), { message: /secret/ });
  t.throws(() => declare(['a.*', 'a.b']), { message: /secret/ });
});
