// Work on the event loop in slices of a few milliseconds: other calls run in between. All such work has one slice in each
// turn of the loop, which what follows one another and what waits at once share.

/** Milliseconds of work in one turn. */
const SLICE_MS = 5;

const waiting: (() => void)[] = [];
/** Whether this turn's slice has begun, and when it ends. */
let begun = false;
let endsAt = 0;

/** What to wait for when this turn's slice is used up; undefined: the work goes on. */
export function nextSlice(): Promise<void> | undefined {
  if (!begun) {
    begin();
    return undefined;
  }
  return performance.now() < endsAt ? undefined : nextTurn();
}

/**
 * A later turn of the event loop whose slice has time left: what waits for the same turn of `setImmediate` runs in
 * it one after the other, however heavy each is.
 */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    setImmediate(resumeOne);
  });
}

function begin(): void {
  begun = true;
  endsAt = performance.now() + SLICE_MS;
  setImmediate(end);
}

function end(): void {
  begun = false;
}

/** Scheduled once for each that waits: short ones share a turn, and who has waited longest is first. */
function resumeOne(): void {
  if (!begun) begin();
  else if (performance.now() >= endsAt) {
    setImmediate(resumeOne);
    return;
  }
  waiting.shift()?.();
}

/** All items mapped, in their order, one after the other. */
export async function mapInSlices<T, U>(
  items: Iterable<T>,
  map: (item: T, index: number) => U | Promise<U>,
): Promise<U[]> {
  const all: U[] = [];
  for (const item of items) {
    const next = nextSlice();
    if (next !== undefined) await next;
    all.push(await map(item, all.length));
  }
  return all;
}

/** Fewer items than this are mapped at once, in the same turn. */
const FEW = 64;

/** The same for what is quick for each item: few are mapped in the turn in which they are asked for. */
export function mapManyInSlices<T, U>(
  items: readonly T[],
  map: (item: T, index: number) => U,
): U[] | Promise<U[]> {
  return items.length < FEW ? items.map((item, index) => map(item, index)) : mapInSlices(items, map);
}
