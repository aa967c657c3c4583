// Work on the event loop in slices of a few milliseconds: other calls run in between. Of several such works one has a slice
// in each turn of the loop, so that together they hold it no longer than one alone.

/** Milliseconds of work between two turns. */
const SLICE_MS = 5;

const waiting: (() => void)[] = [];

export class TimeSlices {
  #endsAt = performance.now() + SLICE_MS;

  /** What to wait for when the work has had its slice; undefined: it goes on. */
  next(): Promise<void> | undefined {
    if (performance.now() < this.#endsAt) return undefined;
    return new Promise((resolve) => {
      const begin = (): void => {
        this.#endsAt = performance.now() + SLICE_MS;
        resolve();
      };
      if (waiting.push(begin) === 1) setImmediate(resume);
    });
  }
}

/** All items mapped, in their order, one after the other. */
export async function mapInSlices<T, U>(
  items: Iterable<T>,
  map: (item: T, index: number) => U | Promise<U>,
): Promise<U[]> {
  const slices = new TimeSlices();
  const all: U[] = [];
  for (const item of items) {
    const next = slices.next();
    if (next !== undefined) await next;
    all.push(await map(item, all.length));
  }
  return all;
}

function resume(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(resume);
}
