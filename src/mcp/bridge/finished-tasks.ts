// Results of calls that ask for a task, and are answered at once: kept until the client asks for them.
import type { JsonObject } from '../wire/json-rpc.ts';
import { isObject } from '../wire/json-rpc.ts';

interface Finished {
  readonly task: JsonObject;
  readonly result: JsonObject;
  readonly bytes: number;
  readonly until: number;
}

const LEAST_MS = 60_000;
const USUAL_MS = 900_000;
const MOST_MS = 3_600_000;
const MOST_KEPT = 5000;
const MOST_BYTES = 64 * 1024 * 1024;

/** The oldest make room. */
export class FinishedTasks {
  readonly #kept = new Map<string, Finished>();
  #bytes = 0;

  /** The task. @param shown its id @param asked the client's `task`, with the milliseconds that it wants it kept for */
  keep(shown: string, result: JsonObject, asked: unknown): JsonObject {
    const { resultType: _type, ttlMs: _ttl, cacheScope: _scope, ...own } = result;
    const wanted = isObject(asked) && typeof asked.ttl === 'number' ? asked.ttl : USUAL_MS;
    const ttl = Math.min(Math.max(wanted, LEAST_MS), MOST_MS);
    const at = new Date().toISOString();
    const status = own.isError === true ? 'failed' : 'completed';
    const task = { taskId: shown, status, createdAt: at, lastUpdatedAt: at, ttl };
    const bytes = JSON.stringify(own).length + 500;
    this.#kept.set(shown, { task, result: own, bytes, until: Date.now() + ttl });
    this.#bytes += bytes;
    this.#makeRoom();
    return task;
  }

  /** Undefined for one that is not kept, or not any more. */
  of(shown: string): Finished | undefined {
    const found = this.#kept.get(shown);
    if (found === undefined || found.until > Date.now()) return found;
    this.#drop(shown, found);
    return undefined;
  }

  #makeRoom(): void {
    const now = Date.now();
    for (const [shown, one] of this.#kept) {
      const isOver = this.#bytes > MOST_BYTES || this.#kept.size > MOST_KEPT;
      if (!isOver && one.until > now) return;
      if (this.#kept.size > 1) this.#drop(shown, one);
    }
  }

  #drop(shown: string, { bytes }: Finished): void {
    this.#kept.delete(shown);
    this.#bytes -= bytes;
  }
}
