// Long work gives way: to the event loop, and to other such work.
import test from 'ava';
import fc from 'fast-check';
import { jsonInSlices } from '../../src/lib/json-in-slices.ts';
import { mapInSlices, nextSlice, nextTurn } from '../../src/lib/time-slices.ts';

/** Holds the thread for longer than a slice. */
function hold(): void {
  const until = performance.now() + 6;
  while (performance.now() < until);
}

/** Turns of the event loop while something goes on. */
async function turnsDuring(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let ended = false;
  const count = (): void => {
    turns++;
    if (!ended) setImmediate(count);
  };
  setImmediate(count);
  await work();
  ended = true;
  return turns;
}

test('a map that takes long gives way before each item that would be too much, and keeps the order', async (t) => {
  let all: number[] = [];
  const turns = await turnsDuring(async () => {
    all = await mapInSlices([1, 2, 3, 4, 5, 6, 7, 8], (item) => {
      hold();
      return item * 2;
    });
  });
  t.deepEqual(all, [2, 4, 6, 8, 10, 12, 14, 16]);
  t.true(turns >= 7, `${turns} turns`);
});

test('several works have one slice in each turn', async (t) => {
  const seen: string[] = [];
  let turn = 0;
  const work = (name: string) =>
    mapInSlices([1, 2, 3], () => {
      seen.push(`${turn} ${name}`);
      hold();
    });
  const next = (): void => {
    turn++;
    if (seen.length < 12) setImmediate(next);
  };
  setImmediate(next);
  await Promise.all(['a', 'b', 'c', 'd'].map(work));
  // From the first on no turn has two.
  const turns = seen.map((at) => at.split(' ')[0]);
  t.is(new Set(turns).size, 12, seen.join());
});

test('of those that wait for the next turn at once, each that is heavy has one of its own', async (t) => {
  const seen: number[] = [];
  let turn = 0;
  const next = (): void => {
    turn++;
    if (seen.length < 10) setImmediate(next);
  };
  setImmediate(next);
  const work = async (): Promise<void> => {
    await nextTurn();
    seen.push(turn);
    hold();
  };
  await Promise.all(Array.from({ length: 10 }, work));
  t.is(new Set(seen).size, 10, seen.join());
});

test('what waits at once and is short shares a turn, and the longest waiting is first', async (t) => {
  let turn = 0;
  let over = false;
  const count = (): void => {
    turn++;
    if (!over) setImmediate(count);
  };
  await nextSlice();
  hold();
  const order: number[] = [];
  const all = Array.from({ length: 2000 }, async (_, i) => {
    await nextSlice();
    order.push(i);
  });
  setImmediate(count);
  await Promise.all(all);
  over = true;
  t.deepEqual(
    order,
    order.toSorted((a, b) => a - b),
  );
  t.true(turn < 1000, `${turn} turns`);
});

test('the fault of one item is the fault of all', async (t) => {
  await t.throwsAsync(
    mapInSlices([1, 2], (item) => {
      if (item === 2) throw new Error('two');
    }),
    { message: 'two' },
  );
});

const text = async (value: unknown): Promise<string> => {
  const json = await jsonInSlices(value);
  return typeof json === 'string' ? json : Buffer.from(json).toString('utf8');
};

test('JSON in slices is what JSON.stringify writes', async (t) => {
  await fc.assert(
    fc.asyncProperty(
      fc.jsonValue({ maxDepth: 4 }),
      fc.constantFrom('', 'x', 'é漢😀"\\\n', '\u2028'),
      fc.constantFrom(1, 1, 20_000, 50_000),
      async (value, letter, times) => {
        const long = {
          value,
          a: [letter.repeat(times), [[value]], { '': letter.repeat(times * 2), b: {} }],
          c: [],
        };
        t.is(await text(long), JSON.stringify(long));
        t.is(await text(value), JSON.stringify(value));
      },
    ),
    { numRuns: 200 },
  );
  const odd = [
    { a: undefined, b: [undefined, 1] },
    ...Array.from({ length: 20_000 }, (_, i) => ({ i, u: undefined })),
  ];
  t.is(await text(odd), JSON.stringify(odd));
  const own = JSON.parse(`{"__proto__":[${'"abcdefgh",'.repeat(20_000)}1]}`) as object;
  t.is(await text(own), JSON.stringify(own));
});

test('long JSON gives way while it is written, short JSON is a text', async (t) => {
  const list = Array.from({ length: 60 }, (_, i) => ({ i, config: '{"a":"\\""}'.repeat(25_000) }));
  const slow = list.map((item) => ({
    get held() {
      hold();
      return item.i;
    },
    config: item.config,
  }));
  t.true((await turnsDuring(() => jsonInSlices(slow))) >= 30);
  t.is(await jsonInSlices({ a: 1 }), '{"a":1}');
});
