// kill -9 of a writing process, and of the server itself: nothing acknowledged is lost, nothing is half done.
// SLUICE_KILL_ROUNDS sets how often (5 by default; a third of it for the server).
import { setTimeout as sleep } from 'node:timers/promises';
import test from 'ava';
import { openMongoStore } from '../../src/store/mongo/open-mongo.ts';
import { mongoServer, type OwnMongo, reportMissing, startOwnMongo } from '../support/servers.ts';
import { heads, widgets } from './documents.contract.ts';
import { ROUNDS, startChild, verifyRound } from './kill-rounds.ts';

// A server of its own: it is killed, and its writes shall not wait for other test files.
const own = (await mongoServer()) === undefined ? undefined : await startOwnMongo();
if (own === undefined) reportMissing(test, 'MongoDB');
else suite(own);

function suite(server: OwnMongo): void {
  const { uri } = server;
  const place = { uri, database: 'killed' };
  test.after.always(() => server.stop());

  const rounds = async (
    t: Parameters<typeof verifyRound>[0],
    first: number,
    count: number,
    end: (child: ReturnType<typeof startChild>) => Promise<void>,
  ): Promise<void> => {
    t.timeout(240_000 + count * 20_000);
    let acknowledged = 0;
    for (let round = first; round < first + count; round++) {
      const child = startChild(`${uri}#${place.database}`, String(round));
      await child.begun;
      await sleep(200 + Math.random() * 500);
      await end(child);
      acknowledged += child.lines.length;
      const store = await openMongoStore({ ...place, collections: [widgets, heads], deadlineMs: 20_000 });
      await verifyRound(t, store, round, child.lines);
      await store.close();
    }
    t.log(`${count} rounds, ${acknowledged} acknowledged writes`);
    t.true(acknowledged > count);
  };

  test.serial('kill -9 of the writing process', async (t) => {
    await rounds(t, 0, ROUNDS, (child) => child.kill());
  });

  test.serial('kill -9 of the server', async (t) => {
    await rounds(t, ROUNDS, Math.ceil(ROUNDS / 3), async (child) => {
      await server.kill();
      await child.kill();
      await server.restart();
    });
  });
}
