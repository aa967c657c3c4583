// Sets of what comes and goes with calls: they are sets, however items come and go.
import test from 'ava';
import { type Placed, Places } from '../../src/lib/places.ts';

interface Item extends Placed {
  readonly name: number;
}

test('an item is in it once, and can leave and come back', (t) => {
  const places = new Places<Item>();
  const [one, two] = [1, 2].map((name): Item => ({ name, place: -1 })) as [Item, Item];
  t.false(places.delete(one));
  places.add(one);
  places.add(one);
  places.add(two);
  t.is(places.size, 2);
  t.true(places.delete(one));
  t.false(places.delete(one));
  t.deepEqual([...places], [two]);
  places.add(one);
  t.deepEqual([...places], [two, one]);
});

test('it holds what a Set holds, through any additions and deletions', (t) => {
  const [places, set] = [new Places<Item>(), new Set<Item>()];
  const items = Array.from({ length: 40 }, (_, name): Item => ({ name, place: -1 }));
  let seed = 7;
  for (let step = 0; step < 5000; step++) {
    seed = (seed * 48_271) % 2_147_483_647;
    const item = items[seed % items.length] as Item;
    if (seed % 3 === 0) t.is(places.delete(item), set.delete(item));
    else {
      places.add(item);
      set.add(item);
    }
    t.is(places.size, set.size);
  }
  const names = (all: Iterable<Item>): number[] => [...all].map(({ name }) => name).sort((a, b) => a - b);
  t.deepEqual(names(places), names(set));
});

test('one of another set is not deleted', (t) => {
  const [places, other] = [new Places<Item>(), new Places<Item>()];
  const [own, foreign] = [1, 2].map((name): Item => ({ name, place: -1 })) as [Item, Item];
  places.add(own);
  other.add(foreign);
  t.false(places.delete(foreign));
  t.is(foreign.place, 0);
  t.deepEqual([...places], [own]);
});
