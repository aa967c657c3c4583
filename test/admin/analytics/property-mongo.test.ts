// Analytics over random traffic in MongoDB.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { dropDatabase, freshDatabase } from '../../store/mongo-database.ts';
import { mongoServer, reportMissing } from '../../support/servers.ts';
import { type Door, openDoor } from './door.ts';
import { analyticsProperties } from './properties.ts';

const mongo = await mongoServer();
const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);

if (mongo === undefined) {
  reportMissing(test, 'MongoDB');
} else {
  const name = freshDatabase();
  const uri = new URL(mongo.uri);
  uri.pathname = `/${name}`;
  const env = { MONGODB_URI: uri.href, GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64') };
  let door: Promise<Door> | undefined;
  test.after.always(async () => {
    await (await door)?.close();
    await dropDatabase(mongo, name);
  });
  analyticsProperties(
    test,
    () => {
      door ??= openDoor({ seed, entries: 300, opinions: 20 }, env);
      return door;
    },
    seed,
    3,
  );
}
