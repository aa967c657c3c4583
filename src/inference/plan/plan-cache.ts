// Plans by the text of their config: parsed once, found again by the text itself.
import type { WholePlan } from './plan.ts';

/** Plans kept, and characters of the texts that they were made of. */
const MOST_PLANS = 2000;
const MOST_CHARACTERS = 16 * 1024 * 1024;

/** The plans used last. */
export class PlanCache {
  readonly #plans = new Map<string, WholePlan>();
  #characters = 0;

  get(key: string): WholePlan | undefined {
    const plan = this.#plans.get(key);
    if (plan === undefined) return undefined;
    // Moved to the end: what was used longest ago is in front. While nothing must go, its order does not matter.
    if (this.#plans.size > MOST_PLANS / 2) {
      this.#plans.delete(key);
      this.#plans.set(key, plan);
    }
    return plan;
  }

  set(key: string, plan: WholePlan): void {
    if (key.length > MOST_CHARACTERS / 16) return;
    this.delete(key);
    this.#plans.set(key, plan);
    this.#characters += key.length;
    for (const old of this.#plans.keys()) {
      if (this.#plans.size <= MOST_PLANS && this.#characters <= MOST_CHARACTERS) break;
      this.delete(old);
    }
  }

  delete(key: string): void {
    if (this.#plans.delete(key)) this.#characters -= key.length;
  }
}
