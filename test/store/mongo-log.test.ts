// The books on MongoDB: the port's contract on a real server.
import test from 'ava';
import { openMongoStore } from '../../src/store/mongo/open.ts';
import { mongoServer, reportMissing, type SharedMongo } from '../support/servers.ts';
import { logContract } from './log.contract.ts';
import { dropDatabase, freshDatabase } from './mongo-database.ts';

const server = await mongoServer();
if (server === undefined) reportMissing(test, 'MongoDB');
else suite(server);

function suite(server: SharedMongo): void {
  const database = freshDatabase();
  // All entries are late, and sums are made at once.
  const sums = { lateMs: 0, settleMs: 0 };
  const shared = openMongoStore({ uri: server.uri, database, collections: [], deadlineMs: 30_000, sums });
  test.after.always(async () => {
    await (await shared).close();
    await dropDatabase(server, database);
  });
  logContract(test.serial as typeof test, async () => (await shared).requestLog, {
    ...{ entries: 100, runs: 30 },
    settle: async () => (await shared).makeSums(),
  });
}
