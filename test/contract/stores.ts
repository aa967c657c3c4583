// Gateways on each store, for tests that hold them against the same answers.
import { randomBytes } from 'node:crypto';
import test from 'ava';
import { freshDatabase } from '../store/mongo-database.ts';
import { mongoServer, reportMissing } from '../support/servers.ts';

const mongo = await mongoServer();
if (mongo === undefined) reportMissing(test, 'MongoDB');

/** What a gateway on each store is started with. */
export const STORES: readonly (readonly [name: string, env: () => Record<string, string>])[] = [
  ['embedded', () => ({})],
  ...(mongo === undefined
    ? []
    : [
        [
          'MongoDB',
          () => {
            const uri = new URL(mongo.uri);
            uri.pathname = `/${freshDatabase()}`;
            return {
              MONGODB_URI: uri.toString(),
              GATEWAY_ENCRYPTION_KEY: randomBytes(32).toString('base64'),
            };
          },
        ] as const,
      ]),
];
