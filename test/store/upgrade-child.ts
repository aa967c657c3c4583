// Opens a store (a folder's, or a MongoDB's given as `address#name`), upgrades its documents and says so; it may be
// killed at any point.
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { openSqliteStore } from '../../src/store/sqlite/open-sqlite.ts';
import { maintenanceCollections } from './maintenance.contract.ts';

const [place = ''] = process.argv.slice(2);
const collections = maintenanceCollections;
const [uri = '', database = ''] = place.split('#');
const store = place.startsWith('mongodb:')
  ? await openMongoStore({ uri, database, collections, deadlineMs: 20_000 })
  : await openSqliteStore({ dataDir: place, collections, upgradeAtOpen: false });
process.stdout.write('begun\n');
const [report] = await store.upgrade();
process.stdout.write(`upgraded ${report?.upgraded ?? 0}\n`);
await store.close();
