// What one test file declares while it is imported, and how it runs: its `before` hooks, its serial tests in order,
// the others at once, its `after` hooks, which assert something and are tests here, its `after.always` hooks, which
// close what it opened. As ava runs a file, but beginning when the file before it has ended.
import type { ExecutionContext } from 'ava';

export type Body = (t: ExecutionContext) => unknown;

/** When a test runs: by itself before the others, beside them, or by itself after them. */
export type Order = 'serial' | 'concurrent' | 'last';

export interface CollectedTest {
  readonly title: string;
  readonly body: Body;
  readonly order: Order;
}

export class CollectedFile {
  /** Its path below the tests, without `.test.ts`. */
  readonly name: string;
  readonly tests: CollectedTest[] = [];
  readonly before: Body[] = [];
  /** Run before each test. */
  readonly beforeEach: Body[] = [];
  /** Run after each test, whatever came of it. */
  readonly afterEach: Body[] = [];
  /** Run when all has ended, whatever came of it. */
  readonly after: Body[] = [];
  /** Settled when its last test and its hooks have ended. Never rejected. */
  readonly ended: Promise<void>;
  readonly #end: () => void;
  #opened: Promise<void> | undefined;
  #left = 0;

  constructor(name: string) {
    this.name = name;
    const { promise, resolve } = Promise.withResolvers<void>();
    this.ended = promise;
    this.#end = resolve;
  }

  /** The tests in order, each waiting for its turn. @param turn settled when this file may begin */
  runnable(turn: Promise<unknown>): CollectedTest[] {
    const of = (order: Order) => this.tests.filter((one) => one.order === order);
    this.#left = this.tests.length;
    if (this.#left === 0) void turn.then(this.#end);
    let before = turn;
    const inTurn = (one: CollectedTest): CollectedTest => {
      const { body, done } = this.#gated(one, before);
      before = done;
      return { ...one, body };
    };
    const serial = of('serial').map(inTurn);
    const concurrent = of('concurrent').map((one) => ({ one, ...this.#gated(one, before) }));
    if (concurrent.length > 0) before = Promise.all(concurrent.map(({ done }) => done));
    return [...serial, ...concurrent.map(({ one, body }) => ({ ...one, body })), ...of('last').map(inTurn)];
  }

  /** A test that waits, and what settles when it and its teardowns have ended. */
  #gated({ body }: CollectedTest, before: Promise<unknown>): { body: Body; done: Promise<void> } {
    const { promise: done, resolve } = Promise.withResolvers<void>();
    const gated = async (t: ExecutionContext): Promise<void> => {
      // Teardowns run in reverse order, so this one runs after those of the test.
      t.teardown(async () => {
        resolve();
        await this.#finished(t);
      });
      await before;
      this.#opened ??= runAll(this.before, t);
      await this.#opened;
      t.teardown(() => runAll(this.afterEach, t));
      await runAll(this.beforeEach, t);
      await body(t);
    };
    return { body: gated, done };
  }

  async #finished(t: ExecutionContext): Promise<void> {
    this.#left -= 1;
    if (this.#left > 0) return;
    try {
      await runAll(this.after, t);
    } finally {
      this.#end();
    }
  }
}

/** Runs hooks in order, all of them; the first error is thrown at the end. */
async function runAll(bodies: readonly Body[], t: ExecutionContext): Promise<void> {
  const errors: unknown[] = [];
  for (const body of bodies) {
    try {
      await body(t);
    } catch (error) {
      errors.push(error);
    }
  }
  if (errors.length > 0) throw errors[0];
}
