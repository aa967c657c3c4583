// How the targets of load balances have done of late, in this process: calls under way and latency.
import type { Plan } from '../plan/plan.ts';

/** Share of the newest sample in the mean. */
const NEWEST = 0.2;
/** After this long without a call, what was known of a target is worth another look. */
const STALE_MS = 60_000;
/** What a failure counts as: a target that fails fast is not a fast one. */
const FAILURE_MS = 10_000;

interface Load {
  busy: number;
  /** Mean in milliseconds; undefined while nothing is known. */
  latencyMs: number | undefined;
  at: number;
}

/** Kept by plan, so that it goes when the plan goes. */
export class Loads {
  readonly #loads = new WeakMap<Plan, Load>();

  begin(plan: Plan): void {
    this.#of(plan).busy++;
  }

  end(plan: Plan, ms: number, failed: boolean, now: number): void {
    const load = this.#of(plan);
    load.busy--;
    const sample = failed ? Math.max(FAILURE_MS, (load.latencyMs ?? 0) * 4) : ms;
    load.latencyMs = load.latencyMs === undefined ? sample : load.latencyMs * (1 - NEWEST) + sample * NEWEST;
    load.at = now;
  }

  /** Given up on: says nothing of the target. */
  drop(plan: Plan): void {
    this.#of(plan).busy--;
  }

  /** Calls under way for its weight. */
  busy(plan: Plan): number {
    return (this.#loads.get(plan)?.busy ?? 0) / plan.weight;
  }

  /** Mean latency in milliseconds; 0 when nothing is known any more, so that it is tried. */
  latencyMs(plan: Plan, now: number): number {
    const load = this.#loads.get(plan);
    if (load === undefined || load.latencyMs === undefined || (load.busy === 0 && now - load.at > STALE_MS))
      return 0;
    return load.latencyMs;
  }

  #of(plan: Plan): Load {
    let load = this.#loads.get(plan);
    if (load === undefined) {
      load = { busy: 0, latencyMs: undefined, at: 0 };
      this.#loads.set(plan, load);
    }
    return load;
  }
}
