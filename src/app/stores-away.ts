// A store on another machine that does not answer: one line tells where it is, one that it is back, and what fails in
// between is not told again and again.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { GatewayError } from '../lib/errors.ts';

const FIRST_MS = 250;
const LAST_MS = 10_000;

/** How long a start waits for its document store, in milliseconds. */
export const STORE_WAIT_MS = 5 * 60_000;

/**
 * What `open` gives, tried again while the store cannot be reached.
 * @throws GatewayError store_unavailable after `waitMs`, and whatever else `open` throws at once
 */
export async function openedWhenThere<T>(
  open: () => Promise<T>,
  { log, address, waitMs }: { readonly log: Logger; readonly address: string; readonly waitMs: number },
): Promise<T> {
  const giveUpAt = performance.now() + waitMs;
  for (let attempt = 0; ; attempt++) {
    try {
      const opened = await open();
      if (attempt > 0) log.info({ address }, 'MongoDB answers');
      return opened;
    } catch (error) {
      const pauseMs = pauseAfter(attempt);
      if (!isAway(error) || performance.now() + pauseMs > giveUpAt) throw error;
      if (attempt === 0)
        log.warn(
          { address, waitSeconds: waitMs / 1000 },
          `MongoDB does not answer at ${address}: it is tried again`,
        );
      await sleep(pauseMs);
    }
  }
}

/** Whether another try may find it: no refusal of what it was told. */
function isAway(error: unknown): boolean {
  return (
    error instanceof GatewayError &&
    error.reason === 'store_unavailable' &&
    /cannot be reached|takes no writes|did not answer|is not available/.test(error.message)
  );
}

function pauseAfter(attempt: number): number {
  return Math.min(LAST_MS, FIRST_MS * 2 ** attempt) * (0.75 + Math.random() / 2);
}

/** Follows whether Redis answers. */
export class RedisWatch {
  readonly #log: Logger;
  readonly #address: string;
  readonly #ready: () => Promise<void>;
  #looking = false;
  #away = false;
  #stopped = false;

  constructor(log: Logger, address: string, ready: () => Promise<void>) {
    this.#log = log;
    this.#address = address;
    this.#ready = ready;
  }

  /** A log that leaves out what fails because Redis is away. */
  quiet(): Logger {
    const { error, warn } = this.#log;
    const unless =
      (write: typeof error) =>
      (...args: unknown[]): void => {
        const [first] = args;
        const failure = (first as { readonly err?: unknown } | undefined)?.err;
        if (!isOfRedis(failure)) return void Reflect.apply(write, this.#log, args);
        if (this.#away) return;
        // What it was is told when it turns out that Redis is there.
        if (!this.#looking) void this.look(() => void Reflect.apply(write, this.#log, args));
      };
    return Object.assign(Object.create(this.#log) as Logger, { error: unless(error), warn: unless(warn) });
  }

  /** Looks whether it answers, and again until it does. @param isThere is told when it does at once */
  async look(isThere: () => void = () => undefined): Promise<void> {
    this.#looking = true;
    if (await this.#answers()) {
      this.#looking = false;
      return isThere();
    }
    this.#away = true;
    const address = this.#address;
    if (!this.#stopped) this.#log.warn({ address }, `Redis does not answer at ${address}: it is tried again`);
    for (let attempt = 0; !this.#stopped; attempt++) {
      await sleep(pauseAfter(attempt), undefined, { ref: false });
      if (!(await this.#answers())) continue;
      this.#away = false;
      this.#looking = false;
      this.#log.info({ address }, 'Redis answers');
      return;
    }
  }

  stop(): void {
    this.#stopped = true;
  }

  async #answers(): Promise<boolean> {
    return this.#ready().then(
      () => true,
      () => false,
    );
  }
}

/** Whether an error, or a cause of it, is that Redis did not do what it was asked. */
function isOfRedis(error: unknown, depth = 0): boolean {
  if (!(error instanceof Error) || depth > 5) return false;
  if (
    error instanceof GatewayError &&
    error.reason === 'store_unavailable' &&
    /shared store/.test(error.message)
  )
    return true;
  if (/enableOfflineQueue|Connection is closed|max retries per request|ClusterAllFailed/i.test(error.message))
    return true;
  return isOfRedis(error.cause, depth + 1);
}
