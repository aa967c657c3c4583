// Analytics over random traffic in the embedded store.
//   ANALYTICS_SEED    repeats a run's traffic and queries
//   ANALYTICS_ROUNDS  queries of each property
//   ANALYTICS_ENTRIES entries of the traffic; enough by default for the store to keep sums
import test from 'ava';
import { type Door, openDoor } from './door.ts';
import { analyticsProperties } from './properties.ts';

const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);
let door: Promise<Door> | undefined;
test.after.always(async () => (await door)?.close());

analyticsProperties(
  test,
  () => {
    door ??= openDoor({ seed, entries: Number(process.env.ANALYTICS_ENTRIES ?? 9000), opinions: 60 });
    return door;
  },
  seed,
  Number(process.env.ANALYTICS_ROUNDS ?? 4),
);
