// Analytics over random traffic in the embedded store.
//   ANALYTICS_SEED    repeats a run's traffic and queries
//   ANALYTICS_ROUNDS  queries of each property
import test from 'ava';
import { type Door, openDoor } from './door.ts';
import { analyticsProperties } from './properties.ts';

const seed = Number(process.env.ANALYTICS_SEED ?? Date.now() % 2 ** 31);
let door: Promise<Door> | undefined;
test.after.always(async () => (await door)?.close());

analyticsProperties(
  test,
  () => {
    door ??= openDoor({ seed, entries: 1500, opinions: 60 });
    return door;
  },
  seed,
  Number(process.env.ANALYTICS_ROUNDS ?? 8),
);
